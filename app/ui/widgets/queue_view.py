"""The downloads, in the order in which they come: a card each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.core.download_events import DownloadFinished, DownloadProgressed
from app.hub.download_queue import QueuedDownload, QueueState
from app.ui.formats import format_count
from app.ui.theme import ui_font
from app.ui.widgets.download_card import DownloadCard


class QueueView(QWidget):
    """Signals (of the entry with this key):
    pause_requested(str), resume_requested(str), remove_requested(str)
    move_requested(str, int): by so many places.
    convert_requested(Path): convert what has arrived.
    """

    pause_requested = Signal(str)
    resume_requested = Signal(str)
    remove_requested = Signal(str)
    move_requested = Signal(str, int)
    convert_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: dict[str, QueuedDownload] = {}
        self.cards: dict[str, DownloadCard] = {}
        self._progress: dict[str, DownloadProgressed] = {}
        self._finished: dict[str, DownloadFinished] = {}
        self.title = QLabel()
        self.title.setFont(ui_font(1.1, bold=True))
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(10)
        self._rows.addWidget(self.title)

    def show_entries(self, entries: Sequence[QueuedDownload]) -> None:
        """The whole queue as it is now."""
        keys = [entry.key for entry in entries]
        for key in [key for key in self.cards if key not in keys]:
            self._drop(key)
        last = len(entries) - 1
        for place, entry in enumerate(entries):
            is_new_state = self._state_of(entry.key) is not entry.state
            card = self._card(entry.key)
            if self._rows.indexOf(card) != place + 1:
                self._rows.insertWidget(place + 1, card)
            if is_new_state or entry.state is not QueueState.RUNNING:
                card.show_entry(entry, is_first=place == 0, is_last=place == last)
            else:
                card.show_place(is_first=place == 0, is_last=place == last)
        self._entries = {entry.key: entry for entry in entries}
        waiting = sum(entry.state is QueueState.WAITING for entry in entries)
        more = self.tr(" · {n} waiting").format(n=format_count(waiting)) if waiting else ""
        self.title.setText(self.tr("Downloads") + more)
        self.setVisible(bool(entries))

    def show_progress(self, key: str, progress: DownloadProgressed) -> None:
        """Of the entry that runs."""
        if self._state_of(key) is QueueState.RUNNING:
            self._progress[key] = progress
            self.cards[key].show_progress(progress)

    def show_finished(self, key: str, finished: DownloadFinished) -> None:
        """An entry is complete."""
        if key in self.cards:
            self._finished[key] = finished
            self.cards[key].show_finished(finished)

    def take_over(self, old: QueueView) -> None:
        """Shows of the entries what `old` was told."""
        for key, progress in old._progress.items():
            self.show_progress(key, progress)
        for key, finished in old._finished.items():
            self.show_finished(key, finished)

    def _state_of(self, key: str) -> QueueState | None:
        entry = self._entries.get(key)
        return entry.state if entry else None

    def _card(self, key: str) -> DownloadCard:
        if key not in self.cards:
            card = DownloadCard()
            card.pause_requested.connect(lambda: self.pause_requested.emit(key))
            card.resume_requested.connect(lambda: self.resume_requested.emit(key))
            card.remove_requested.connect(lambda: self.remove_requested.emit(key))
            card.move_requested.connect(lambda step: self.move_requested.emit(key, step))
            card.convert_requested.connect(lambda: self._convert(key))
            self.cards[key] = card
        return self.cards[key]

    def _drop(self, key: str) -> None:
        card = self.cards.pop(key)
        self._progress.pop(key, None)
        self._finished.pop(key, None)
        self._rows.removeWidget(card)
        card.hide()
        card.deleteLater()

    def _convert(self, key: str) -> None:
        if (entry := self._entries.get(key)) and entry.path:
            self.convert_requested.emit(Path(entry.path))
