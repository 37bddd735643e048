"""What the Library page asks of the other pages, and what they tell it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.core.settings import Topic
from app.ui.controllers import Controllers
from app.ui.desk import Desk
from app.ui.dialogs.move_library_dialog import MoveLibraryDialog
from app.ui.widgets.library_folder_row import LibraryFolderRow

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow


class LibraryShell(QObject):
    """Lives and goes with its desk."""

    def __init__(self, desk: Desk, controllers: Controllers, window: MainWindow) -> None:
        super().__init__(desk)
        self._page, self._controllers, self._window = desk.library_page, controllers, window
        page = self._page
        self.folder_row = LibraryFolderRow(controllers.disk.library_dir)
        self.folder_row.move_requested.connect(self.ask_to_move)
        desk.settings_page.add_to_topic(Topic.MODELS, self.folder_row)
        page.chat_requested.connect(window.chat_with)
        page.convert_requested.connect(lambda path: window.offer([path]))
        page.validate_requested.connect(lambda path: window.validate([path]))
        page.starter_requested.connect(window.convert_starter)
        page.pick_requested.connect(window.pick_files)
        page.download_requested.connect(lambda: window.show_page(window.download_page))
        page.fetch_requested.connect(self._on_fetch_requested)
        page.resume_requested.connect(self._on_resume_requested)
        page.move_requested.connect(self.ask_to_move)
        controllers.conversion.finished.connect(page.refresh)
        controllers.conversion.cancelled.connect(page.refresh)
        controllers.download.finished.connect(page.refresh)
        controllers.disk.moved.connect(self._on_library_moved)
        for changed in (controllers.disk.removed, controllers.disk.restored):
            changed.connect(self._on_disk_changed)

    def ask_to_move(self) -> None:
        """Opens the dialog that moves the library."""
        dialog = MoveLibraryDialog(self._controllers.disk.library_dir, self._window)
        dialog.folder_chosen.connect(self._on_folder_chosen)
        dialog.open()

    def _on_folder_chosen(self, folder: Path) -> None:
        self._window.show_page(self._page)
        self._controllers.disk.move_library(folder)

    def _on_disk_changed(self) -> None:
        self._controllers.library.refresh()

    def _on_library_moved(self, _source: Path, target: Path) -> None:
        self.folder_row.show_folder(target)
        self._controllers.library.set_library_dir(target)
        self._controllers.conversion.set_library_dir(target)

    def _on_fetch_requested(self, reference: str) -> None:
        self._window.show_page(self._window.download_page)
        self._controllers.download.hub.submit(reference)

    def _on_resume_requested(self, source: Path, output: Path) -> None:
        self._window.show_page(self._window.convert_page)
        self._controllers.conversion.enqueue([source], start=False, output=output)
