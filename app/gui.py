"""The composition root of the window.

Start-up order, and why:
1. Qt's Core, Gui and Widgets, settings and log: nothing slower is imported before the window shows.
2. Theme, store, controllers, window; `show()`. The first paint comes within a second of the start
   of the process.
3. After the first paint, from the event loop: the library is listed, the last model is loaded (in
   its worker process), pyqtgraph is imported on a thread, and what the command line asked for is
   started.
Shutdown is the way back: the window is closed and takes nothing new, conversions are cancelled and
their worker ends, the engine's worker saves and ends, helper threads are waited for, and only then
does the application quit.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from app.chat.store import ChatStore
from app.controllers.bridge import EventBridge
from app.controllers.chat import ChatController
from app.controllers.conversion import ConversionController
from app.controllers.crash_watch import CrashWatch
from app.controllers.disk import DiskController
from app.controllers.download import DownloadController
from app.controllers.garbage import GuiGarbageCollector
from app.controllers.library import LibraryController
from app.controllers.machine import MachineController
from app.controllers.presets import Presets
from app.controllers.remote import RemoteController
from app.controllers.server import ServerController
from app.controllers.validation import ValidationController
from app.core.boundary import Guard
from app.core.events import Event
from app.core.keychain import Keychain
from app.core.log import configure_logging
from app.core.paths import chats_path, keys_dir, library_dir, log_path, resources_dir, settings_path
from app.core.settings_store import SettingsStore
from app.core.single_instance import InstanceDoor
from app.hub.starter import find_starter
from app.ui import accessible
from app.ui.accents import Accent
from app.ui.controllers import Controllers
from app.ui.dialogs.crash_report_dialog import CrashReportDialog
from app.ui.language import Language
from app.ui.main_window import MainWindow
from app.ui.theme import Theme, ThemeMode
from app.ui.widgets.banner import BannerTone

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Knocked(Event):
    path: Path | None


class Doorbell(QObject):
    """A later start brings this window to the front, and its file into it."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = EventBridge(self)
        self._bridge.received.connect(self._on_received)

    def ring(self, path: Path | None) -> None:
        """From any thread."""
        self._bridge.post(_Knocked(path))

    def _on_received(self, event: Event) -> None:
        if isinstance(event, _Knocked):
            self._window.come_forward()
            if event.path is not None:
                self._window.open_path(event.path)


class Program:
    """Everything that lives as long as the window, in the order of its making."""

    def __init__(self, app: QApplication) -> None:
        self._garbage = GuiGarbageCollector()
        self.settings = SettingsStore(settings_path())
        values = self.settings.values
        self.language = Language(app, values.language)
        self.theme = Theme(app, ThemeMode(values.theme), values.font_percent, Accent(values.accent))
        self.store = ChatStore.open(chats_path())
        chat = ChatController(self.store)
        self.controllers = Controllers(
            conversion=ConversionController(library_dir()),
            chat=chat,
            presets=Presets(self.store, self.settings),
            library=LibraryController(library_dir()),
            disk=DiskController(library_dir(), self.settings),
            validation=ValidationController(),
            download=DownloadController(self.settings),
            server=ServerController(chat.engine, self.settings, Keychain(keys_dir())),
            remote=RemoteController(self.settings, Keychain()),
            machine=MachineController(library_dir()),
        )
        with self.theme.held_back():
            self.window = MainWindow(
                self.controllers, self.settings, self.theme, self.language, starter=find_starter()
            )
        self._show_notes()

    def start(self, source: Path | None) -> None:
        """What may be slow; called by the event loop after the first paint."""
        _logger.info("The window is painted.")
        self.controllers.library.refresh()
        self.controllers.download.start()
        self.window.chat_page.start()
        self.controllers.server.prepare()
        self.window.tray.start()
        self.window.configure_engine()
        if source is None:
            self._load_last_model()
        else:
            self.window.open_path(source)

    def _load_last_model(self) -> None:
        values = self.settings.values
        if values.uses_remote:
            self.controllers.remote.reconnect()
        elif values.last_model and Path(values.last_model).is_dir():
            self.window.load_model(Path(values.last_model))

    def shutdown(self) -> None:
        """The way back; waits for every thread and process."""
        self.window.tray.stop()
        self.controllers.download.shutdown()
        self.controllers.validation.shutdown()
        self.controllers.conversion.shutdown()
        self.controllers.remote.shutdown()
        self.controllers.machine.shutdown()
        self.controllers.server.shutdown()
        self.controllers.chat.shutdown()
        self.controllers.library.shutdown()
        self.controllers.disk.shutdown()
        self.window.chat_page.shutdown()
        self.language.remove()
        self._garbage.stop()

    def _show_notes(self) -> None:
        notes = [*self.settings.notes, self.store.notice, self.controllers.download.note]
        for note in filter(None, notes):
            self.window.show_message(note, note, BannerTone.WARNING)


def create_application() -> QApplication:
    """The one QApplication, named and with its icon."""
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    accessible.install()
    app.setApplicationName("DeepInfer")
    app.setApplicationDisplayName("DeepInfer")
    app.setDesktopFileName("deepinfer")
    app.setWindowIcon(QIcon(str(resources_dir() / "icons" / "app.svg")))
    return app


def main(path: Path | None = None, door: InstanceDoor | None = None) -> int:
    """Opens the window, converting `path` when given; returns the exit code when it was closed.

    `door`: where later starts knock, to be seen or to hand their file over.
    """
    configure_logging(log_path())
    app = create_application()
    watch = CrashWatch()
    watch.install()
    program: Program | None = None
    # Whatever it is: a window that does not come must say why.
    with Guard("The window could not be made", partial(_show_failure, watch)):
        program = Program(app)
    if program is None:
        watch.close()
        return 1
    watch_over(program, watch)
    # From the event loop: what was painted is on the screen by then.
    program.window.painted.connect(lambda: QTimer.singleShot(0, lambda: program.start(path)))
    program.window.painted.connect(lambda: QTimer.singleShot(0, watch.start))
    program.window.fit_into(program.window.screen().availableGeometry())
    program.window.show()
    doorbell = Doorbell(program.window)
    if door is not None:
        door.open(doorbell.ring)
    code = app.exec()
    if door is not None:
        door.close()
    program.shutdown()
    watch.close()
    return code


def watch_over(program: Program, watch: CrashWatch) -> None:
    """The window tells what broke, and shows what was kept of it."""
    watch.failed.connect(lambda error: program.window.show_error(error))
    watch.report_found.connect(program.window.show_crash)


def _show_failure(watch: CrashWatch, error: Exception) -> None:
    """There is no window: the report itself is shown, where it could be kept."""
    report = watch.keep(error)
    sys.stderr.write(f"deepinfer: the window could not be made: {error}\n")
    if report is not None:
        CrashReportDialog(report).exec()
