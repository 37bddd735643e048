"""A download under way, paused, or complete."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QWidget

from app.core.download_events import DownloadFinished, DownloadProgressed, OfferedModel
from app.core.units import format_bytes
from app.ui.formats import format_duration
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card

_STEPS = 1000  # a progress bar counts in int, bytes do not fit


class DownloadCard(Card):
    """Signals:
    pause_requested, resume_requested
    convert_requested: convert what has arrived.
    """

    pause_requested = Signal()
    resume_requested = Signal()
    convert_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.title = QLabel()
        self.title.setFont(ui_font(1.1, bold=True))
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName(self.tr("Downloaded"))
        self.status = QLabel()
        self.status.setWordWrap(True)
        self.status.setTextFormat(Qt.TextFormat.PlainText)
        self.pause_button = QPushButton(self.tr("Pause"))
        self.resume_button = QPushButton(self.tr("Resume"))
        self.convert_button = QPushButton(self.tr("Convert it"))
        self._buttons = (self.pause_button, self.resume_button, self.convert_button)
        self._build()

    def show_begun(self, model: OfferedModel) -> None:
        """Nothing has come yet."""
        self.title.setText(self.tr("Downloading {name}").format(name=model.name))
        self.progress.setRange(0, 0)
        self._show_status(self.tr("Asking the hub…"), "muted")
        self._offer(self.pause_button)

    def show_progress(self, progress: DownloadProgressed) -> None:
        """How far it is."""
        self.progress.setRange(0, _STEPS)
        self.progress.setValue(progress.done_bytes * _STEPS // max(progress.total_bytes, 1))
        done, total = format_bytes(progress.done_bytes), format_bytes(progress.total_bytes)
        parts = [self.tr("{done} of {total}").format(done=done, total=total)]
        if progress.is_stalled:
            text = self.tr("stalled: no byte for {time}, trying again")
            parts.append(text.format(time=format_duration(progress.silent_s)))
        else:
            parts.append(f"{format_bytes(round(progress.bytes_per_s))}/s")
        if progress.eta_s is not None:
            parts.append(self.tr("{time} left").format(time=format_duration(progress.eta_s)))
        self._show_status(" · ".join(parts), "warning" if progress.is_stalled else "muted")

    def show_pausing(self) -> None:
        """The user does not want more for now."""
        self._show_status(self.tr("Pausing…"), "muted")
        self._offer()

    def show_paused(self) -> None:
        """What has arrived stays."""
        self._stand_still()
        text = self.tr("Paused. What has arrived stays on the disk, also when the program ends.")
        self._show_status(text, "muted")
        self._offer(self.resume_button)

    def show_failed(self) -> None:
        """The error stands elsewhere."""
        self._stand_still()
        self._show_status(self.tr("What has arrived stays on the disk."), "muted")
        self._offer(self.resume_button)

    def show_finished(self, finished: DownloadFinished) -> None:
        """Everything is there."""
        self.title.setText(self.tr("Downloaded and verified"))
        self.progress.setRange(0, _STEPS)
        self.progress.setValue(_STEPS)
        text = self.tr("{size} in {time}, of it {found} here before. {path}")
        facts = {
            "size": format_bytes(finished.num_bytes),
            "time": format_duration(finished.seconds),
            "found": format_bytes(finished.resumed_bytes),
            "path": finished.path,
        }
        self._show_status(text.format(**facts), "success")
        self._offer(self.convert_button)
        if self.isVisible():
            self.convert_button.setFocus()

    def _stand_still(self) -> None:
        if self.progress.maximum() == 0:
            self.progress.setRange(0, _STEPS)

    def _show_status(self, text: str, tone: str) -> None:
        self.status.setText(text)
        set_role(self.status, "tone", tone)

    def _offer(self, *buttons: QPushButton) -> None:
        for button in self._buttons:
            button.setVisible(button in buttons)

    def _build(self) -> None:
        for button in (self.resume_button, self.convert_button):
            set_role(button, "kind", "primary")
        self.pause_button.clicked.connect(self.pause_requested)
        self.resume_button.clicked.connect(self.resume_requested)
        self.convert_button.clicked.connect(self.convert_requested)
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        for button in self._buttons:
            head.addWidget(button)
        self.rows.addLayout(head)
        self.rows.addWidget(self.progress)
        self.rows.addWidget(self.status)
