"""A file that goes with a message, by its name; clicked, it shows its text."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.chat.attachments import Attachment
from app.ui.dialogs.details_dialog import DetailsDialog
from app.ui.icons import IconButton, IconLabel
from app.ui.problems import Problem
from app.ui.theme import set_role, ui_font

_LONGEST_NAME = 32


class AttachmentChip(QFrame):
    """Signals:
    removed(AttachmentChip): by its button, which is there where it `can_remove`.
    """

    removed = Signal(object)

    def __init__(
        self, attachment: Attachment, *, can_remove: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.attachment = attachment
        set_role(self, "card", "sunken")
        self.open_button = QPushButton(_shortened(attachment.name))
        self.open_button.setFont(ui_font(0.92))
        self.open_button.setToolTip(attachment.name)
        self.open_button.setAccessibleName(self.tr("Show {name}").format(name=attachment.name))
        set_role(self.open_button, "kind", "link")
        self.open_button.clicked.connect(self._on_open_clicked)
        self.remove_button = IconButton("close", self.tr("Remove {name}"), size=14)
        self.remove_button.set_label(self.tr("Remove {name}").format(name=attachment.name))
        self.remove_button.clicked.connect(lambda: self.removed.emit(self))
        self.remove_button.setVisible(can_remove)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 2, 4 if can_remove else 10, 2)
        layout.setSpacing(4)
        layout.addWidget(IconLabel("attach", size=16), alignment=Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.open_button)
        layout.addWidget(self.remove_button)

    def _on_open_clicked(self) -> None:
        problem = Problem("", self.attachment.name, detail=self.attachment.text)
        DetailsDialog(problem, self.window()).open()


def _shortened(name: str) -> str:
    """Its beginning and its end, which tells what kind of file it is."""
    if len(name) <= _LONGEST_NAME:
        return name
    half = (_LONGEST_NAME - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
