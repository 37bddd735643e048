"""The files that go with a message, in lines."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.chat.attachments import Attachment
from app.ui.widgets.attachment_chip import AttachmentChip
from app.ui.widgets.flow_layout import FlowLayout


class AttachmentBar(QWidget):
    """Hidden while it is empty; files that stay begin where the message ends, at the right.

    Signals:
        changed: a file came or went.
    """

    changed = Signal()

    def __init__(self, *, can_remove: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._can_remove = can_remove
        side = Qt.AlignmentFlag.AlignLeft if can_remove else Qt.AlignmentFlag.AlignRight
        self._flow = FlowLayout(spacing=6, side=side)
        self.setLayout(self._flow)
        self.hide()

    @property
    def chips(self) -> list[AttachmentChip]:
        """In the order they came."""
        items = [self._flow.itemAt(index) for index in range(self._flow.count())]
        widgets = [item.widget() for item in items if item is not None]
        return [widget for widget in widgets if isinstance(widget, AttachmentChip)]

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """In the order they came."""
        return tuple(chip.attachment for chip in self.chips)

    def add(self, attachment: Attachment) -> None:
        """One more."""
        chip = AttachmentChip(attachment, can_remove=self._can_remove)
        chip.removed.connect(self._remove)
        self._flow.addWidget(chip)
        self._tell()

    def show_attachments(self, attachments: Sequence[Attachment]) -> None:
        """These and no others."""
        for chip in self.chips:
            self._take(chip)
        for attachment in attachments:
            self.add(attachment)
        self._tell()

    def _remove(self, chip: AttachmentChip) -> None:
        self._take(chip)
        self._tell()

    def _take(self, chip: AttachmentChip) -> None:
        self._flow.removeWidget(chip)
        chip.hide()
        chip.deleteLater()

    def _tell(self) -> None:
        self.setVisible(bool(self.chips))
        self.updateGeometry()
        self.changed.emit()
