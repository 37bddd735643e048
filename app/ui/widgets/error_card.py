"""Work that did not succeed: one sentence, the details to copy, and what to do next."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.core.events import ErrorInfo
from app.ui.dialogs.details_dialog import DetailsDialog
from app.ui.icons import IconLabel
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.copy_button import CopyButton


class ErrorCard(Card):
    """Signals:
    retry_requested: the same source again.
    resume_requested: go on with what is kept.
    discard_requested: throw away what is kept of a paused conversion.
    overwrite_requested: the same source again, in place of the checkpoint that is there.
    chat_requested: talk to the checkpoint that is there.
    """

    retry_requested = Signal()
    resume_requested = Signal()
    discard_requested = Signal()
    overwrite_requested = Signal()
    chat_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._detail = ""
        self._title = QLabel()
        self._title.setFont(ui_font(1.15, bold=True))
        self._failure_icon = IconLabel("warning", size=24, tone="danger")
        self._calm_icon = IconLabel("stop", size=24)
        self.message = QLabel()
        self.message.setWordWrap(True)
        self.message.setTextFormat(Qt.TextFormat.PlainText)
        self.message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._details_button = QPushButton(self.tr("Details"))
        self._details_button.clicked.connect(self._on_details_clicked)
        self._retry_button = QPushButton(self.tr("Try again"))
        self._retry_button.clicked.connect(self.retry_requested)
        self.resume_button = QPushButton(self.tr("Resume"))
        self.resume_button.clicked.connect(self.resume_requested)
        self.discard_button = QPushButton(self.tr("Throw it away"))
        self.discard_button.clicked.connect(self.discard_requested)
        self._overwrite_button = QPushButton(self.tr("Convert again"))
        self._overwrite_button.clicked.connect(self.overwrite_requested)
        self.chat_button = QPushButton(self.tr("Chat with it"))
        self.chat_button.clicked.connect(self.chat_requested)
        self._choices = (
            self.chat_button,
            self._overwrite_button,
            self.resume_button,
            self.discard_button,
            self._retry_button,
        )
        self.copy_button = CopyButton(self._report, self.tr("Copy the message"))
        self._build()

    def show_error(self, name: str, error: ErrorInfo) -> None:
        """Shows what went wrong with the conversion of the source `name`."""
        self.show_failure(self.tr("{name} was not converted").format(name=name), error)

    def show_failure(self, title: str, error: ErrorInfo) -> None:
        """Shows what went wrong."""
        self._show(title, error.message, error.detail, self._retry_button, self.copy_button)

    def show_exists(self, name: str, error: ErrorInfo) -> None:
        """The library has it already: no failure, but a choice."""
        title = self.tr("{name} is in the library already").format(name=name)
        self._show(title, error.message, error.detail, self.chat_button, self._overwrite_button)

    def show_cancelled(self, name: str) -> None:
        """The user stopped it."""
        text = self.tr("{name} was not converted; nothing was left behind.").format(name=name)
        self._show(self.tr("Cancelled"), text, "", self._retry_button)

    def show_paused(self, name: str) -> None:
        """The user stopped it for now."""
        text = self.tr(
            "What is done of {name} stays on the disk: resume it now, or drop the file again later."
        ).format(name=name)
        self._show(self.tr("Paused"), text, "", self.resume_button, self.discard_button)

    def _show(self, title: str, message: str, detail: str, *buttons: QWidget) -> None:
        self._title.setText(title)
        self.message.setText(message)
        self._detail = detail
        self._details_button.setVisible(bool(detail))
        is_failure = self.copy_button in buttons
        self._failure_icon.setVisible(is_failure)
        self._calm_icon.setVisible(not is_failure)
        for button in (*self._choices, self.copy_button):
            button.setVisible(button in buttons)

    def _report(self) -> str:
        return "\n\n".join(
            part for part in (self._title.text(), self.message.text(), self._detail) if part
        )

    def _on_details_clicked(self) -> None:
        DetailsDialog(self.message.text(), self._detail, self).open()

    def _build(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self._failure_icon)
        head.addWidget(self._calm_icon)
        head.addWidget(self._title, 1)
        head.addWidget(self.copy_button)
        buttons = QHBoxLayout()
        for button in (self.chat_button, self.resume_button):
            set_role(button, "kind", "primary")
        set_role(self._details_button, "kind", "link")
        for button in (*self._choices, self._details_button):
            buttons.addWidget(button)
        buttons.addStretch()
        self.rows.addLayout(head)
        self.rows.addWidget(self.message)
        self.rows.addLayout(buttons)
