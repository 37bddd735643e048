"""What runs on the disk, or how a verification ended."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.core.library_events import (
    ItemPlace,
    LibraryItem,
    MoveProgressed,
    VerifyFinished,
    VerifyProgressed,
)
from app.core.units import format_bytes
from app.ui.icons import IconButton
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.progress_bar import ProgressBar

_MAX_SENTENCES = 6


class DiskWorkCard(Card):
    """Signals:
    cancel_requested
    fetch_requested(VerifyFinished), convert_requested(VerifyFinished): make what is broken anew.
    """

    cancel_requested = Signal()
    fetch_requested = Signal(object)
    convert_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._result: VerifyFinished | None = None
        self._title, self._text = QLabel(), QLabel()
        self._title.setFont(ui_font(1.05, bold=True))
        for label in (self._title, self._text):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.progress = ProgressBar(self.tr("Progress"))
        self.cancel_button = QPushButton(self.tr("Cancel"))
        self.fetch_button = QPushButton(self.tr("Fetch again"))
        self.convert_button = QPushButton(self.tr("Convert again"))
        self.close_button = IconButton("close", self.tr("Dismiss"), size=16)
        self._build()
        self.hide()

    def show_verifying(self, item: LibraryItem) -> None:
        """Nothing was read yet."""
        title, amount = self.tr("Verifying {name}"), self._amount(0, item.size_bytes)
        self._show(title.format(name=item.name), amount, "muted", is_running=True)
        self.progress.show_share(0, item.size_bytes)

    def show_verify_progress(self, progress: VerifyProgressed) -> None:
        """How far it is."""
        self.progress.show_share(progress.done_bytes, progress.total_bytes)
        self._show_part(progress.file, progress.done_bytes, progress.total_bytes)

    def show_verified(self, result: VerifyFinished, *, has_source: bool) -> None:
        """The end of it; `has_source`: a broken checkpoint can be converted again."""
        self._result = result
        name, size = result.item.name, format_bytes(result.num_bytes)
        if result.broken:
            title, tone = self.tr("{name} is damaged").format(name=name), "danger"
            sentences = [shown(broken.reason) for broken in result.broken]
        elif result.num_files:
            title, tone = self.tr("{name} is sound").format(name=name), "success"
            text = self.tr("{count} files, {size}: every byte is what it should be.")
            sentences = [text.format(count=result.num_files, size=size)]
        else:
            title, tone = self.tr("{name} could not be verified").format(name=name), "warning"
            sentences = []
        sentences += map(shown, result.unchecked)
        self._show(title, "\n".join(sentences[:_MAX_SENTENCES]), tone, is_running=False)
        is_cached = result.item.place is ItemPlace.HUB
        self.fetch_button.setVisible(bool(result.broken) and is_cached)
        self.convert_button.setVisible(bool(result.broken) and has_source)

    def show_moving(self, target: Path) -> None:
        """Nothing was moved yet."""
        title = self.tr("Moving the library to {path}").format(path=target)
        self._show(title, "", "muted", is_running=True)
        self.progress.setRange(0, 0)

    def show_move_progress(self, progress: MoveProgressed) -> None:
        """How far it is."""
        self.progress.show_share(progress.done_bytes, progress.total_bytes)
        self._show_part(progress.name, progress.done_bytes, progress.total_bytes)

    def show_stopping(self) -> None:
        """It was cancelled, and has not ended yet."""
        self.cancel_button.setEnabled(False)

    def _show(self, title: str, text: str, tone: str, *, is_running: bool) -> None:
        self._title.setText(title)
        self._text.setText(text)
        self._text.setVisible(bool(text))
        set_role(self._title, "tone", "text" if is_running else tone)
        set_role(self._text, "tone", "muted" if is_running or tone == "success" else "text")
        self.progress.setAccessibleName(title)
        self.setAccessibleName(title)
        self.cancel_button.setEnabled(True)
        for widget in (self.progress, self.cancel_button):
            widget.setVisible(is_running)
        self.close_button.setVisible(not is_running)
        self.fetch_button.hide()
        self.convert_button.hide()
        self.show()

    def _show_part(self, name: str, done_bytes: int, total_bytes: int) -> None:
        self._text.setText(f"{name}  ·  {self._amount(done_bytes, total_bytes)}")
        self._text.show()

    def _amount(self, done_bytes: int, total_bytes: int) -> str:
        done, total = format_bytes(done_bytes), format_bytes(total_bytes)
        return self.tr("{done} of {total}").format(done=done, total=total)

    def _build(self) -> None:
        for button in (self.fetch_button, self.convert_button):
            set_role(button, "kind", "primary")
        self.cancel_button.clicked.connect(self.cancel_requested)
        self.close_button.clicked.connect(self.hide)
        self.fetch_button.clicked.connect(lambda: self.fetch_requested.emit(self._result))
        self.convert_button.clicked.connect(lambda: self.convert_requested.emit(self._result))
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self._title, 1)
        for button in (self.fetch_button, self.convert_button, self.cancel_button):
            head.addWidget(button)
        head.addWidget(self.close_button)
        self.rows.setContentsMargins(20, 12, 14, 14)
        self.rows.setSpacing(8)
        self.rows.addLayout(head)
        self.rows.addWidget(self.progress)
        self.rows.addWidget(self._text)
