"""What the user said: a bubble, which can be opened for editing."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.chat.transcript import Turn
from app.ui.accessible import Role, as_role, tell_in_order
from app.ui.icons import IconButton
from app.ui.theme import set_role
from app.ui.widgets.attachment_bar import AttachmentBar
from app.ui.widgets.composer import ComposerEdit
from app.ui.widgets.copy_button import CopyButton
from app.ui.widgets.text_segment import TextSegment
from app.ui.widgets.version_switch import VersionSwitch

_MIN_USER_MARGIN = 72
_WIDEST_BUBBLE = 600


class UserCard(QWidget):
    """A message as typed: never read as Markdown.

    Signals:
        edited(turn_id: int, str): ask with this text instead.
        version_requested(turn_id: int, steps: int)
        delete_requested(turn_id: int)
    """

    told_as = as_role(Role.Grouping)

    edited = Signal(int, str)
    version_requested = Signal(int, int)
    delete_requested = Signal(int)

    def __init__(self, turn: Turn, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.turn_id = turn.turn_id
        self._content = turn.content
        self.setAccessibleName(self.tr("You"))
        self._text = TextSegment()
        self._text.setPlainText(turn.content)
        self._text.setAccessibleName(self.tr("Your message"))
        self.copy_button = CopyButton(lambda: self._content, self.tr("Copy message"), size=16)
        self.edit_button = IconButton("edit", self.tr("Edit and ask again"), size=16)
        self.delete_button = IconButton("trash", self.tr("Delete this message"), size=16)
        self.versions = VersionSwitch()
        self.files = AttachmentBar(can_remove=False)
        self.files.show_attachments(turn.attachments)
        self.editor = ComposerEdit()
        self.send_button = QPushButton(self.tr("Ask again"))
        self.cancel_button = QPushButton(self.tr("Cancel"))
        self._bubble = self._create_bubble()
        self._bubble.setVisible(bool(turn.content))
        self._fit_bubble()
        self._text.installEventFilter(self)
        self._editing = self._create_editing()
        self._build()
        self._connect()
        self.versions.show_turn(turn)

    @property
    def text(self) -> str:
        """The message."""
        return self._content

    @property
    def draft(self) -> str | None:
        """What it is being changed to; None while it is not."""
        return None if self._editing.isHidden() else self.editor.toPlainText()

    def begin_editing(self, draft: str | None = None) -> None:
        """Opens the message for changes; `draft` is what it was changed to already."""
        self.editor.setPlainText(self._content if draft is None else draft)
        self._show_editing(True)
        self.editor.moveCursor(self.editor.textCursor().MoveOperation.End)
        self.editor.setFocus()

    def set_can_ask(self, can_ask: bool) -> None:
        """Whether a reply can be asked for now; editing itself is always possible."""
        self.send_button.setEnabled(can_ask)

    @property
    def _buttons(self) -> tuple[QToolButton, ...]:
        return self.copy_button, self.edit_button, self.delete_button

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FontChange:  # of the text, when it is zoomed
            self._fit_bubble()
        return super().eventFilter(watched, event)

    def _fit_bubble(self) -> None:
        self._bubble.setMaximumWidth(self._preferred_width() + 2 * 16)

    def _on_submitted(self) -> None:
        text = self.editor.toPlainText()
        if self.send_button.isEnabled() and text.strip():
            self._show_editing(False)
            if text != self._content:
                self.edited.emit(self.turn_id, text)

    def _on_cancelled(self) -> None:
        self._show_editing(False)
        self.edit_button.setFocus()

    def _show_editing(self, is_editing: bool) -> None:
        self._editing.setVisible(is_editing)
        self._bubble.setVisible(not is_editing and bool(self._content))
        for button in self._buttons:
            button.setVisible(not is_editing)

    def _connect(self) -> None:
        self.edit_button.clicked.connect(lambda: self.begin_editing())
        self.editor.submitted.connect(self._on_submitted)
        self.editor.escaped.connect(self._on_cancelled)
        self.send_button.clicked.connect(self._on_submitted)
        self.cancel_button.clicked.connect(self._on_cancelled)
        self.delete_button.clicked.connect(lambda: self.delete_requested.emit(self.turn_id))
        self.versions.requested.connect(
            lambda steps: self.version_requested.emit(self.turn_id, steps)
        )

    def _create_bubble(self) -> QFrame:
        bubble = QFrame()
        set_role(bubble, "card", "user")
        bubble.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        inner = QVBoxLayout(bubble)
        inner.setContentsMargins(16, 10, 16, 10)
        inner.addWidget(self._text)
        return bubble

    def _create_editing(self) -> QFrame:
        frame = QFrame()
        frame.setObjectName("composer")
        set_role(frame, "focused", True)
        self.editor.setAccessibleName(self.tr("Edit your message"))
        set_role(self.send_button, "kind", "primary")
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.send_button)
        inner = QVBoxLayout(frame)
        inner.setContentsMargins(14, 10, 10, 10)
        inner.addWidget(self.editor)
        inner.addLayout(buttons)
        frame.hide()
        return frame

    def _build(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addStretch(1)
        for button in self._buttons:
            row.addWidget(button, alignment=Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._bubble, 1000)
        row.addWidget(self._editing, 1000)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(_MIN_USER_MARGIN, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.files)
        layout.addLayout(row)
        layout.addWidget(self.versions, alignment=Qt.AlignmentFlag.AlignRight)
        tell_in_order(self.files, self._bubble, self._editing)
        tell_in_order(self.copy_button, self.edit_button, self.versions)

    def _preferred_width(self) -> int:
        metrics = self._text.fontMetrics()
        widest = max(
            (metrics.horizontalAdvance(line) for line in self._content.split("\n")), default=0
        )
        return min(max(widest + 8, 24), _WIDEST_BUBBLE)
