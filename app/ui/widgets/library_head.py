"""The top of the Library page: how much there is and how much is free, a filter, the folders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.core.library_events import LibraryScanned
from app.core.units import format_bytes
from app.ui.icons import IconButton
from app.ui.theme import set_role, ui_font
from app.ui.widgets.menu_button import MenuButton
from app.ui.widgets.progress_bar import ProgressBar

_VOLUME_WIDTH = 140
_NARROW = 620


class LibraryHead(QWidget):
    """Signals:
    filter_changed(str): words that every item shown must hold.
    refresh_requested, move_requested, reveal_requested
    folder_requested: list another folder, too. folder_dropped(Path): list it no more.
    about_to_show_folders: answer with `show_folders`.
    """

    filter_changed = Signal(str)
    refresh_requested = Signal()
    move_requested = Signal()
    reveal_requested = Signal()
    folder_requested = Signal()
    folder_dropped = Signal(object)
    about_to_show_folders = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = QLabel(self.tr("Library"))
        self._title.setFont(ui_font(1.8, bold=True))
        self.summary = QLabel()
        set_role(self.summary, "tone", "muted")
        self.volume = ProgressBar(self.tr("Used of the library's disk"))
        self.volume.setFixedWidth(_VOLUME_WIDTH)
        self.scanning = ProgressBar(self.tr("Looking at this disk"))
        self.scanning.setRange(0, 0)
        policy = self.scanning.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # what is below stays where it is
        self.scanning.setSizePolicy(policy)
        set_role(self.scanning, "thin", True)
        self.filter = QLineEdit()
        self.filter.setClearButtonEnabled(True)
        self.filter.setAcceptDrops(False)  # files are the window's
        self.filter.setPlaceholderText(self.tr("Filter by name, family, bits or folder"))
        self.filter.setAccessibleName(self.tr("Filter"))
        for button in self.filter.findChildren(QToolButton):
            button.setAccessibleName(self.tr("Clear the filter"))
        self.refresh_button = IconButton("regenerate", self.tr("Look again (F5)"))
        self.refresh_button.setShortcut("F5")
        self.folders_button = MenuButton(self.tr("Folders"))
        self.folders_button.setText(self.tr("Folders"))
        self._menu = self.folders_button.menu()
        self._is_busy = False
        self._build()
        self.set_scanning(False)

    def show_space(self, scanned: LibraryScanned) -> None:
        """How much the items take, and what is left on the library's volume."""
        total = sum(item.size_bytes for item in scanned.items)
        space = scanned.space
        facts = {
            "items": self._count(len(scanned.items)),
            "size": format_bytes(total),
            "free": format_bytes(space.free_bytes),
            "all": format_bytes(space.total_bytes),
        }
        text = self.tr("{items}, {size}  ·  {free} of {all} free").format(**facts)
        self.summary.setText(text)
        self.volume.show_share(space.total_bytes - space.free_bytes, space.total_bytes)
        self.volume.setToolTip(str(space.path))
        self.volume.show()

    def _count(self, num_items: int) -> str:
        return (
            self.tr("1 item")
            if num_items == 1
            else self.tr("{count} items").format(count=num_items)
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = event.size().width() < _NARROW
        self.volume.setFixedWidth(_VOLUME_WIDTH // 2 if is_narrow else _VOLUME_WIDTH)

    def show_folders(self, folders: Sequence[Path]) -> None:
        """Fills the menu."""
        self._menu.clear()
        self._menu.addAction(self.tr("List a folder of mine…"), self.folder_requested.emit)
        for folder in folders:
            text = self.tr("No longer list {path}").format(path=folder)
            self._menu.addAction(text, partial(self.folder_dropped.emit, folder))
        self._menu.addSeparator()
        self._menu.addAction(self.tr("Show the library's folder"), self.reveal_requested.emit)
        move = self._menu.addAction(self.tr("Move the library…"), self.move_requested.emit)
        move.setEnabled(not self._is_busy)

    def set_scanning(self, is_scanning: bool) -> None:
        """Whether the disk is being looked at."""
        self.scanning.setVisible(is_scanning)
        self.refresh_button.setEnabled(not is_scanning)
        if is_scanning and not self.summary.text():
            self.summary.setText(self.tr("Looking at this disk…"))

    def set_can_filter(self, can_filter: bool) -> None:
        """Whether there is something to filter."""
        self.filter.setEnabled(can_filter)

    def set_busy(self, is_busy: bool) -> None:
        """Whether something runs on the disk, so that the library cannot be moved."""
        self._is_busy = is_busy

    def _build(self) -> None:
        self.volume.hide()
        self._menu.aboutToShow.connect(self.about_to_show_folders)
        self.filter.textChanged.connect(self.filter_changed)
        self.refresh_button.clicked.connect(self.refresh_requested)
        head, tools = QHBoxLayout(), QHBoxLayout()
        head.setSpacing(14)
        head.addWidget(self._title)
        head.addStretch()
        head.addWidget(self.summary)
        head.addWidget(self.volume)
        tools.setSpacing(8)
        tools.addWidget(self.filter, 1)
        tools.addWidget(self.refresh_button)
        tools.addWidget(self.folders_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(10)
        layout.addLayout(head)
        layout.addLayout(tools)
        layout.addWidget(self.scanning)
