"""The ways out of errors: buttons of pages and banners lead to where something can be done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.controllers.chat_request import with_remedy
from app.controllers.conversion_job import ConversionOptions
from app.core.crash_reports import mark_seen
from app.core.events import ErrorInfo
from app.core.library_events import LibraryItem, LibraryScanned
from app.core.load_memory import LoadChoice, remember_choice
from app.core.memory_shortage import MemoryRemedy, RemedyKind
from app.core.settings import Topic
from app.core.settings_store import SettingsStore
from app.ui.controllers import Controllers
from app.ui.desk import Desk
from app.ui.dialogs.crash_report_dialog import CrashReportDialog
from app.ui.problems import Way
from app.workers.commands import LoadModel

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow

_W3 = ConversionOptions("w3", allow_lossy=True)


class Ways(QObject):
    """Lives and goes with its desk."""

    def __init__(
        self, desk: Desk, controllers: Controllers, settings: SettingsStore, window: MainWindow
    ) -> None:
        super().__init__(desk)
        self._desk, self._controllers, self._window = desk, controllers, window
        self._settings = settings
        self._items: tuple[LibraryItem, ...] = ()
        banners = desk.chat_page.banners
        banners.way_requested.connect(self.go)
        banners.remedy_requested.connect(self._on_remedy_requested)
        banners.report_requested.connect(self.show_report)
        desk.library_page.banners.way_requested.connect(self.go)
        for page in (desk.convert_page, desk.validate_page, desk.download_page):
            page.error.way_requested.connect(self.go)
        controllers.chat.worker_died.connect(self._on_worker_died)
        controllers.chat.failed.connect(self._on_failed)
        controllers.disk.scanned.connect(self._on_scanned)

    def go(self, way: Way) -> None:
        """Where the button says; RETRY is the page's own."""
        match way:
            case Way.LIBRARY:
                self._desk.show_page(self._desk.library_page)
            case Way.MODEL_SETTINGS:
                self._show_settings(Topic.MODELS)
            case Way.DOWNLOAD_SETTINGS:
                self._show_settings(Topic.DOWNLOADS)
            case Way.MODELS:
                self._desk.show_page(self._desk.chat_page)
                self._desk.chat_page.show_model_menu()
            case Way.NEW_CHAT:
                self._desk.chat_page.banners.clear_errors()
                self._desk.show_page(self._desk.chat_page)
                self._desk.chat_page.new_conversation()

    def show_report(self, path: Path) -> None:
        """What was kept of a crash."""
        CrashReportDialog(path, self._window).open()

    def _on_worker_died(self, _sentence: str, report: Path | None) -> None:
        """The Chat page tells of it."""
        if report is not None:
            mark_seen([report])

    def _show_settings(self, topic: Topic) -> None:
        self._desk.show_page(self._desk.settings_page)
        self._desk.settings_page.show_topic(topic)

    def _on_remedy_requested(self, remedy: MemoryRemedy) -> None:
        command = self._controllers.chat.last_load
        if not isinstance(command, LoadModel):
            return
        self._desk.chat_page.banners.clear_errors()
        if remedy.kind is RemedyKind.W3:
            self._convert_again(command.model_dir)
            return
        wanted = with_remedy(command, remedy)
        values = self._settings.values
        asked = LoadChoice(values.max_model_len, values.kv_dtype)
        chosen = LoadChoice(wanted.max_model_len or 0, wanted.kv_dtype)
        remember_choice(command.model_dir, asked, chosen)
        self._controllers.chat.load(wanted)

    def _convert_again(self, model_dir: Path) -> None:
        """Beside the present one; the user sees what it costs, and starts it."""
        if (source := self._source_of(model_dir)) is not None:
            self._desk.show_page(self._desk.convert_page)
            output = model_dir.with_name(f"{model_dir.name}-w3")
            self._controllers.conversion.enqueue([source], _W3, start=False, output=output)

    def _source_of(self, model_dir: Path) -> Path | None:
        found = (item.path for item in self._items if item.checkpoint == model_dir)
        return next(found, None)

    def _on_failed(self, error: ErrorInfo) -> None:
        if error.shortage is not None:
            self._tell_source()
            if not self._items:
                self._controllers.disk.refresh()

    def _tell_source(self) -> None:
        """Whether the model that was asked for could be converted again."""
        command = self._controllers.chat.last_load
        is_known = isinstance(command, LoadModel) and self._source_of(command.model_dir) is not None
        self._desk.chat_page.banners.set_has_source(is_known)

    def _on_scanned(self, scanned: LibraryScanned) -> None:
        if scanned.is_complete:
            self._items = scanned.items
            self._tell_source()
