"""The left column of the Chat page: new chat, search, and the conversations."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QItemSelection, QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QLineEdit,
    QListView,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.chat.transcript import ConversationSummary
from app.ui.icons import IconButton, create_icon
from app.ui.item_models.conversation_model import ConversationModel, ConversationRole
from app.ui.theme import set_role, ui_font
from app.ui.widgets.conversation_delegate import ConversationDelegate

_SEARCH_DELAY_MS = 200


class ConversationPanel(QFrame):
    """Shows summaries and says what the user wants done with them.

    Signals:
        new_requested
        open_requested(conversation_id)
        rename_requested(conversation_id, title)
        delete_requested(conversation_id)
        search_changed(query)
    """

    new_requested = Signal()
    open_requested = Signal(str)
    rename_requested = Signal(str, str)
    delete_requested = Signal(str)
    search_changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("conversation_panel")
        self._model = ConversationModel(self)
        self._view = QListView()
        self.search_field = QLineEdit()
        self._nothing = QLabel()
        self.new_button = IconButton("plus", self.tr("New chat (Ctrl+N)"))
        self._search_timer = QTimer(self, singleShot=True, interval=_SEARCH_DELAY_MS)
        self._setup_view()
        self._build()

    @property
    def query(self) -> str:
        """What is searched for."""
        return self.search_field.text().strip()

    def show_conversations(
        self, rows: Sequence[ConversationSummary], current_id: str | None
    ) -> None:
        """Shows a list and marks the open conversation."""
        self._model.set_rows(rows)
        self.select(current_id)
        self._nothing.setText(
            self.tr("No conversation matches.")
            if self.query
            else self.tr("Your conversations will be listed here.")
        )
        self._nothing.setVisible(not rows)
        self._view.setVisible(bool(rows))

    def select(self, conversation_id: str | None) -> None:
        """Marks one conversation without asking for it to be opened."""
        selection = self._view.selectionModel()
        selection.blockSignals(True)
        row = self._model.row_of(conversation_id) if conversation_id else None
        if row is None:
            self._view.clearSelection()
        else:
            self._view.setCurrentIndex(self._model.index(row))
        selection.blockSignals(False)
        self._view.viewport().update()

    def _on_selection_changed(self, selected: QItemSelection) -> None:
        indexes = selected.indexes()
        if indexes:
            self.open_requested.emit(indexes[0].data(ConversationRole.ID))

    def _on_context_menu_requested(self, position: QPoint) -> None:
        index = self._view.indexAt(position)
        if not index.isValid():
            return
        conversation_id, title = index.data(ConversationRole.ID), index.data()
        menu = QMenu(self)
        menu.addAction(
            create_icon("edit"), self.tr("Rename…"), lambda: self._rename(conversation_id, title)
        )
        menu.addAction(
            create_icon("trash"),
            self.tr("Delete"),
            lambda: self.delete_requested.emit(conversation_id),
        )
        menu.popup(self._view.viewport().mapToGlobal(position))

    def _rename(self, conversation_id: str, title: str) -> None:
        dialog = QInputDialog(self)
        dialog.setWindowTitle(self.tr("Rename conversation"))
        dialog.setLabelText(self.tr("Title"))
        dialog.setTextValue(title)
        dialog.textValueSelected.connect(lambda text: self._on_title_entered(conversation_id, text))
        dialog.open()

    def _on_title_entered(self, conversation_id: str, title: str) -> None:
        if title.strip():
            self.rename_requested.emit(conversation_id, title.strip())

    def _on_search_timeout(self) -> None:
        self.search_changed.emit(self.query)

    def _setup_view(self) -> None:
        self._view.setModel(self._model)
        self._view.setItemDelegate(ConversationDelegate(self._view))
        self._view.setAccessibleName(self.tr("Conversations"))
        self._view.setMouseTracking(True)
        self._view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._view.customContextMenuRequested.connect(self._on_context_menu_requested)
        self._view.selectionModel().selectionChanged.connect(self._on_selection_changed)

    def _build(self) -> None:
        title = QLabel(self.tr("Chats"))
        title.setFont(ui_font(1.15, bold=True))
        self.search_field.setPlaceholderText(self.tr("Search (Ctrl+F)"))
        self.search_field.setAccessibleName(self.tr("Search conversations"))
        self.search_field.setClearButtonEnabled(True)
        self.search_field.setAcceptDrops(False)
        if clear := self.search_field.findChild(QToolButton):
            clear.setAccessibleName(self.tr("Clear the search"))
        self.search_field.textChanged.connect(lambda _text: self._search_timer.start())
        self._search_timer.timeout.connect(self._on_search_timeout)
        self.new_button.clicked.connect(self.new_requested)
        set_role(self._nothing, "tone", "muted")
        self._nothing.setWordWrap(True)
        head = QHBoxLayout()
        head.addWidget(title, 1)
        head.addWidget(self.new_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 8, 8)
        layout.setSpacing(10)
        layout.addLayout(head)
        layout.addWidget(self.search_field)
        layout.addWidget(self._nothing)
        layout.addWidget(self._view, 1)
        layout.addStretch()
