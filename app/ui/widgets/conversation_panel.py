"""The left column of the Chat page: new chat, search, and the conversations."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QItemSelection, QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.chat.transcript import ConversationSummary
from app.ui.icons import IconButton
from app.ui.item_models.conversation_model import ConversationModel, ConversationRole
from app.ui.theme import set_role, ui_font
from app.ui.widgets.choice_button import ChoiceButton
from app.ui.widgets.conversation_delegate import ConversationDelegate
from app.ui.widgets.conversation_menu import ConversationMenu

_SEARCH_DELAY_MS = 200
_ALL = "*"  # no folder's name: those are stripped and not empty


class ConversationPanel(QFrame):
    """Shows summaries and says what the user wants done with them.

    Signals:
        new_requested
        open_requested(conversation_id)
        rename_requested(conversation_id, title)
        delete_requested(conversation_id)
        pin_requested(conversation_id, bool)
        move_requested(conversation_id, folder): '' takes it out of its folder.
        duplicate_requested(conversation_id, title): the title of the copy.
        export_requested(conversation_id, suffix): `.md` or `.json`; '' for all of them.
        import_requested
        shortcuts_requested: show the list of keys.
        search_changed: `query` or `folder` is another.
    """

    new_requested = Signal()
    open_requested = Signal(str)
    rename_requested = Signal(str, str)
    delete_requested = Signal(str)
    pin_requested = Signal(str, bool)
    move_requested = Signal(str, str)
    duplicate_requested = Signal(str, str)
    export_requested = Signal(str, str)
    import_requested = Signal()
    shortcuts_requested = Signal()
    search_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("conversation_panel")
        self._model = ConversationModel(self)
        self._view = QListView()
        self.search_field = QLineEdit()
        self._nothing = QLabel()
        self.new_button = IconButton("plus", self.tr("New chat (Ctrl+N)"))
        self.more_button = IconButton("more", self.tr("Import, export, shortcuts"))
        self.folder_button = ChoiceButton(self.tr("Folder"), self._folder_choices(()))
        self._folders: tuple[str, ...] = ()
        self._menu: ConversationMenu | None = None
        self._search_timer = QTimer(self, singleShot=True, interval=_SEARCH_DELAY_MS)
        self._setup_view()
        self._build()

    @property
    def query(self) -> str:
        """What is searched for."""
        return self.search_field.text().strip()

    @property
    def folder(self) -> str | None:
        """The folder that is shown; None for all."""
        return None if self.folder_button.value == _ALL else self.folder_button.value

    @property
    def folders(self) -> tuple[str, ...]:
        """Those that can be shown."""
        return self._folders

    def show_folders(self, folders: Sequence[str]) -> None:
        """Offers these; one that is empty now is not shown any more."""
        self._folders = tuple(folders)
        self.folder_button.set_choices(self._folder_choices(folders))
        self.folder_button.setVisible(bool(folders))

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
        menu = self.create_menu(index.data(ConversationRole.SUMMARY))
        menu.popup(self._view.viewport().mapToGlobal(position))

    def create_menu(self, conversation: ConversationSummary) -> ConversationMenu:
        """What can be done with one of them."""
        if self._menu is not None:
            self._menu.deleteLater()
        self._menu = menu = ConversationMenu(conversation, self._folders, self)
        menu.pin_requested.connect(self.pin_requested)
        menu.move_requested.connect(self.move_requested)
        menu.rename_requested.connect(self.rename_requested)
        menu.duplicate_requested.connect(self.duplicate_requested)
        menu.export_requested.connect(self.export_requested)
        menu.delete_requested.connect(self.delete_requested)
        return menu

    def _folder_choices(self, folders: Sequence[str]) -> dict[str, str]:
        names = {name: name for name in folders}
        return {_ALL: self.tr("All conversations"), **names, "": self.tr("In no folder")}

    def _on_search_timeout(self) -> None:
        self.search_changed.emit()

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

    def _setup_more_menu(self) -> None:
        menu = QMenu(self)
        menu.setAccessibleName(self.more_button.accessibleName())
        menu.addAction(self.tr("Import conversations…"), self.import_requested.emit)
        menu.addAction(
            self.tr("Export all as JSON…"), lambda: self.export_requested.emit("", ".json")
        )
        menu.addSeparator()
        menu.addAction(self.tr("Keyboard shortcuts (F1)"), self.shortcuts_requested.emit)
        self.more_button.setMenu(menu)
        self.more_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)

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
        self.folder_button.value_changed.connect(lambda _folder: self.search_changed.emit())
        self.folder_button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.folder_button.hide()
        self._setup_more_menu()
        set_role(self._nothing, "tone", "muted")
        self._nothing.setWordWrap(True)
        head = QHBoxLayout()
        head.addWidget(title, 1)
        head.addWidget(self.more_button)
        head.addWidget(self.new_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 8, 8)
        layout.setSpacing(10)
        layout.addLayout(head)
        layout.addWidget(self.search_field)
        layout.addWidget(self.folder_button)
        layout.addWidget(self._nothing)
        layout.addWidget(self._view, 1)
        layout.addStretch()
