"""One download of the queue: how far it is, and what can be done with it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.core.download_events import DownloadFinished, DownloadingFile, DownloadProgressed
from app.core.units import format_bytes
from app.hub.download_queue import QueuedDownload, QueueState
from app.ui.formats import format_duration, format_rate, format_share
from app.ui.icons import IconButton
from app.ui.item_models.row_model import Column
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.collapsible import Collapsible
from app.ui.widgets.elided_label import ElidedLabel
from app.ui.widgets.progress_bar import ProgressBar
from app.ui.widgets.row_table import RowTable

_MAX_FILE_ROWS = 6


class DownloadCard(Card):
    """Signals:
    pause_requested, resume_requested, remove_requested
    move_requested(int): by so many places, -1 is sooner.
    convert_requested: convert what has arrived.
    """

    pause_requested = Signal()
    resume_requested = Signal()
    remove_requested = Signal()
    move_requested = Signal(int)
    convert_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._name = ""
        self.title, self.source = ElidedLabel(), ElidedLabel()
        self.title.setFont(ui_font(1.1, bold=True))
        self.progress = ProgressBar()
        self.status, self.note = QLabel(), QLabel()
        for label in (self.status, self.note):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self.files = RowTable(
            self._create_columns(),
            self.tr("Files of the download"),
            max_rows=_MAX_FILE_ROWS,
            is_first_wide=True,
        )
        self.file_list = Collapsible(self.tr("Files"), self.files, is_open=False)
        self.sooner_button = IconButton("chevron_up", "", size=18)
        self.later_button = IconButton("chevron_down", "", size=18)
        self.remove_button = IconButton("close", "", size=18)
        self.pause_button = QPushButton(self.tr("Pause"))
        self.resume_button = QPushButton(self.tr("Resume"))
        self.convert_button = QPushButton(self.tr("Convert to chat"))
        self._build()

    def show_entry(self, entry: QueuedDownload, *, is_first: bool, is_last: bool) -> None:
        """What the queue says of it; `show_progress` says more while it runs."""
        self._show_name(entry)
        self._offer(entry.state)
        self.show_place(is_first=is_first, is_last=is_last)
        is_running = entry.state is QueueState.RUNNING
        self.file_list.setVisible(is_running and self.files.model().rowCount() > 1)
        self.note.setVisible(is_running and bool(self.note.text()))
        self.progress.show_share(entry.done_bytes, entry.num_bytes)
        text, tone = self._describe(entry)
        self._show_status(text, tone)

    def show_place(self, *, is_first: bool, is_last: bool) -> None:
        """Where it stands in the queue."""
        for button, is_end in ((self.sooner_button, is_first), (self.later_button, is_last)):
            button.setVisible(not (is_first and is_last))
            button.setEnabled(not is_end)

    def show_progress(self, progress: DownloadProgressed) -> None:
        """How far it is now."""
        self.progress.show_share(progress.done_bytes, progress.total_bytes)
        done, total = format_bytes(progress.done_bytes), format_bytes(progress.total_bytes)
        parts = [self.tr("{done} of {total}").format(done=done, total=total)]
        if progress.is_checking:
            parts.append(self.tr("checking what is here already"))
        elif progress.done_bytes >= progress.total_bytes:
            parts.append(self.tr("verifying"))
        elif progress.is_stalled:
            parts.append(self._describe_silence(progress))
        else:
            parts.append(format_rate(progress.bytes_per_s))
        if progress.eta_s is not None:
            parts.append(self.tr("{time} left").format(time=format_duration(progress.eta_s)))
        self._show_status(" · ".join(parts), "warning" if progress.is_stalled else "muted")
        self.note.setText(shown(progress.note))
        self.note.setVisible(bool(progress.note))
        self._show_files(progress.files)

    def show_finished(self, finished: DownloadFinished) -> None:
        """Everything is there."""
        text = self.tr("Downloaded and verified: {size} in {time}, of it {found} here before.")
        facts = {
            "size": format_bytes(finished.num_bytes),
            "time": format_duration(finished.seconds),
            "found": format_bytes(finished.resumed_bytes),
        }
        self._show_status(text.format(**facts), "success")

    def _show_name(self, entry: QueuedDownload) -> None:
        self.title.set_whole(entry.name)
        self.source.set_whole(entry.reference)
        if entry.name != self._name:
            self._name = entry.name
            self.setAccessibleName(entry.name)
            self.progress.setAccessibleName(self.tr("Downloaded of {name}").format(name=self._name))
            self.sooner_button.set_label(self.tr("Fetch {name} sooner").format(name=self._name))
            self.later_button.set_label(self.tr("Fetch {name} later").format(name=self._name))
            text = self.tr("Take {name} off the list; what has arrived stays on the disk")
            self.remove_button.set_label(text.format(name=self._name))

    def _describe(self, entry: QueuedDownload) -> tuple[str, str]:
        done, total = format_bytes(entry.done_bytes), format_bytes(entry.num_bytes)
        share = self.tr("{done} of {total}").format(done=done, total=total)
        match entry.state:
            case QueueState.WAITING:
                return self.tr("Waits its turn · {share}").format(share=share), "muted"
            case QueueState.RUNNING:
                return self.tr("Asking the hub…"), "muted"
            case QueueState.PAUSED:
                text = self.tr("Paused · {share} · stays on the disk, also when the program ends")
                return text.format(share=share), "muted"
            case QueueState.FAILED:
                return shown(entry.problem), "danger"
            case QueueState.DONE:
                return self.tr("Downloaded and verified: {total}").format(total=total), "success"

    def _describe_silence(self, progress: DownloadProgressed) -> str:
        silent = format_duration(progress.silent_s)
        text = self.tr("stalled: no byte for {time}; after {limit} the connection is made anew")
        return text.format(time=silent, limit=format_duration(progress.retry_after_s))

    def _show_files(self, files: tuple[DownloadingFile, ...]) -> None:
        num_done = sum(file.state == "done" for file in files)
        title = self.tr("{n} files, {done} complete").format(n=len(files), done=num_done)
        self.file_list.button.setText(title)
        self.file_list.button.setAccessibleName(title)
        is_new = self.files.model().rowCount() != len(files)
        if is_new or self.file_list.content.isVisibleTo(self):
            self.files.set_rows(files)
        self.file_list.setVisible(len(files) > 1)

    def _show_status(self, text: str, tone: str) -> None:
        self.status.setText(text)
        set_role(self.status, "tone", tone)

    def _offer(self, state: QueueState) -> None:
        can_resume = state in (QueueState.PAUSED, QueueState.FAILED)
        self.pause_button.setVisible(state in (QueueState.WAITING, QueueState.RUNNING))
        self.resume_button.setVisible(can_resume)
        self.convert_button.setVisible(state is QueueState.DONE)
        self.progress.setVisible(state is not QueueState.DONE)

    def _create_columns(self) -> list[Column]:
        return [
            Column(self.tr("File"), lambda f: f.path, tool_tip=lambda f: f.path),
            Column(self.tr("Size"), lambda f: format_bytes(f.total_bytes), is_number=True),
            Column(self.tr("Here"), lambda f: _percent(f), is_number=True),
            Column(self.tr("State"), lambda f: self._state(f.state)),
        ]

    def _state(self, state: str) -> str:
        return {
            "waiting": self.tr("waits"),
            "checking": self.tr("is checked"),
            "running": self.tr("comes"),
            "done": self.tr("verified"),
        }[state]

    def _build(self) -> None:
        set_role(self.source, "tone", "muted")
        set_role(self.note, "tone", "warning")
        for button in (self.resume_button, self.convert_button):
            set_role(button, "kind", "primary")
        self.pause_button.clicked.connect(self.pause_requested)
        self.resume_button.clicked.connect(self.resume_requested)
        self.convert_button.clicked.connect(self.convert_requested)
        self.remove_button.clicked.connect(self.remove_requested)
        self.sooner_button.clicked.connect(lambda: self.move_requested.emit(-1))
        self.later_button.clicked.connect(lambda: self.move_requested.emit(1))
        names = QVBoxLayout()
        names.setSpacing(2)
        names.addWidget(self.title)
        names.addWidget(self.source)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addLayout(names, 1)
        for button in (self.pause_button, self.resume_button, self.convert_button):
            head.addWidget(button)
        for icon_button in (self.sooner_button, self.later_button, self.remove_button):
            head.addWidget(icon_button)
        self.rows.addLayout(head)
        for widget in (self.progress, self.status, self.note, self.file_list):
            self.rows.addWidget(widget)
        self.note.hide()
        self.file_list.hide()


def _percent(file: DownloadingFile) -> str:
    return format_share(file.done_bytes / max(file.total_bytes, 1), 0)
