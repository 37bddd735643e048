"""Where the user writes: Enter sends, Shift+Enter breaks lines, Esc stops, an IME is left alone."""

from __future__ import annotations

import time

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from app.ui.formats import format_count
from app.ui.icons import IconButton
from app.ui.theme import set_role, ui_font
from app.ui.widgets.attachment_bar import AttachmentBar

_MAX_LINES = 8
_NEARLY_FULL = 0.9
# Some input methods deliver the Enter that chose a candidate once more, right after the commit.
# Nobody types an own Enter within this time.
_COMMIT_ECHO_S = 0.06


class ComposerEdit(QPlainTextEdit):
    """A text field that grows with its lines.

    Signals:
        submitted: Enter was meant to send.
        escaped: Esc was pressed.
        focus_changed(bool)
    """

    submitted = Signal()
    escaped = Signal()
    focus_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer_edit")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setAcceptDrops(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.document().setDocumentMargin(2)
        self._is_composing = False
        self._committed_at = 0.0
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
        elif self._is_send_key(event):
            if not self._is_input_method_busy():
                self.submitted.emit()
        else:
            super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._is_composing = bool(event.preeditString())
        if event.commitString():
            self._committed_at = time.monotonic()
        super().inputMethodEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._is_composing = False
        super().focusOutEvent(event)
        self.focus_changed.emit(False)

    def sizeHint(self) -> QSize:
        return QSize(300, self.height())

    def _is_send_key(self, event: QKeyEvent) -> bool:
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        return is_enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier

    def _is_input_method_busy(self) -> bool:
        return self._is_composing or time.monotonic() - self._committed_at < _COMMIT_ECHO_S

    def _fit(self) -> None:
        lines = min(max(1, int(self.document().size().height())), _MAX_LINES)
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 10)


class Composer(QFrame):
    """The field with its send button, which is the stop button while a reply runs.

    Signals:
        submitted(str): the text to send; the field keeps it until `clear`.
        stop_requested: stop the running reply.
        attach_requested: choose files that go with the message.
    """

    submitted = Signal(str)
    stop_requested = Signal()
    attach_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._can_send = False
        self._is_running = False
        self.edit = ComposerEdit()
        self.send_button = IconButton("send", self.tr("Send (Enter)"), size=20, tone="on_accent")
        self.stop_button = IconButton("stop", self.tr("Stop (Esc)"), size=20, tone="on_accent")
        self._hint = QLabel(self.tr("Enter sends, Shift+Enter starts a new line"))
        self.meter = QLabel()
        self.files = AttachmentBar(can_remove=True)
        self.attach_button = IconButton("attach", self.tr("Attach text or PDF files"), size=20)
        self._build()
        self._update()

    def set_state(self, *, can_send: bool, is_running: bool, placeholder: str) -> None:
        """What can be done now; `placeholder` says why nothing can."""
        self._can_send, self._is_running = can_send, is_running
        self.edit.setPlaceholderText(placeholder)
        # Qt repaints only when a placeholder comes or goes, not when its words change.
        self.edit.viewport().update()
        self._update()

    def set_text(self, text: str) -> None:
        """Puts text into the field and the cursor behind it."""
        self.edit.setPlainText(text)
        self.edit.moveCursor(self.edit.textCursor().MoveOperation.End)
        self.edit.setFocus()

    def show_context(self, num_tokens: int, max_model_len: int) -> None:
        """How many tokens the model would read, of how many it can."""
        text = self.tr("{n} of {total} tokens")
        counts = {"n": format_count(num_tokens), "total": format_count(max_model_len)}
        self.meter.setText(text.format(**counts))
        share = num_tokens / max_model_len
        tone = "danger" if share >= 1 else "warning" if share >= _NEARLY_FULL else "muted"
        set_role(self.meter, "tone", tone)

    def hide_context(self) -> None:
        """Nothing is known of it."""
        self.meter.clear()

    def clear(self) -> None:
        """Empties the field after sending."""
        self.edit.clear()
        self.files.show_attachments(())

    def _on_submitted(self) -> None:
        text = self.edit.toPlainText()
        if self._can_send and (text.strip() or self.files.attachments):
            self.submitted.emit(text)

    def _on_escaped(self) -> None:
        if self._is_running:
            self.stop_requested.emit()

    def _update(self) -> None:
        self.send_button.setVisible(not self._is_running)
        self.stop_button.setVisible(self._is_running)
        has_message = bool(self.edit.toPlainText().strip() or self.files.attachments)
        self.send_button.setEnabled(self._can_send and has_message)

    def _on_focus_changed(self, focused: bool) -> None:
        set_role(self, "focused", focused)

    def _build(self) -> None:
        self.edit.setAccessibleName(self.tr("Message"))
        for label in (self._hint, self.meter):
            set_role(label, "tone", "muted")
            label.setFont(ui_font(0.84))
        self.edit.textChanged.connect(self._update)
        self.edit.submitted.connect(self._on_submitted)
        self.edit.escaped.connect(self._on_escaped)
        self.edit.focus_changed.connect(self._on_focus_changed)
        self.files.changed.connect(self._update)
        self.attach_button.clicked.connect(self.attach_requested)
        self.send_button.clicked.connect(self._on_submitted)
        self.stop_button.clicked.connect(self.stop_requested)
        foot = QHBoxLayout()
        foot.addWidget(self.attach_button)
        foot.addWidget(self._hint, 1)
        foot.addWidget(self.meter)
        foot.addSpacing(6)
        for button in (self.send_button, self.stop_button):
            button.set_kind("send")
            foot.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 10, 8)
        layout.setSpacing(4)
        layout.addWidget(self.files)
        layout.addWidget(self.edit)
        layout.addLayout(foot)
        self.setFocusProxy(self.edit)
