"""The window: what others ask of it, where it stands, how it closes. Its desk shows the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, QMargins, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QPaintEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from app.controllers.remote_link import ConnectRemote
from app.core.conversion_events import ConversionReport
from app.core.events import ErrorInfo
from app.core.load_memory import LoadChoice, find_choice
from app.core.settings_store import SettingsStore
from app.engine.request import OverflowPolicy
from app.remote.endpoint import RemoteEndpoint
from app.ui.appearance import Appearance
from app.ui.closing import Closing
from app.ui.controllers import Controllers
from app.ui.desk import Desk
from app.ui.dialogs.remote_dialog import RemoteDialog
from app.ui.dialogs.shortcuts_dialog import ShortcutsDialog
from app.ui.dialogs.source_dialog import SourceDialog
from app.ui.drops import Drops
from app.ui.language import Language
from app.ui.library_shell import LibraryShell
from app.ui.opening import find_checkpoint
from app.ui.pages.chat_page import ChatPage
from app.ui.pages.convert_page import ConvertPage
from app.ui.pages.download_page import DownloadPage
from app.ui.pages.library_page import LibraryPage
from app.ui.pages.server_page import ServerPage
from app.ui.pages.settings_page import SettingsPage
from app.ui.pages.validate_page import ValidatePage
from app.ui.problems import describe
from app.ui.sentences import shown
from app.ui.shortcuts import create_shortcuts, list_shortcuts
from app.ui.theme import Theme
from app.ui.tray import Tray
from app.ui.ways import Ways
from app.ui.widgets.banner import Banner, BannerStack, BannerTone
from app.ui.widgets.navigation_rail import NavigationRail
from app.ui.widgets.problem_banner import ProblemBanner
from app.ui.wiring import Wiring
from app.workers.commands import ConfigureEngine, LoadModel

_FIRST_SIZE = QSize(1320, 860)
_TITLE_BAR_PX = 40


class MainWindow(QMainWindow):
    """Signals:
    painted: the user sees the window for the first time.
    """

    painted = Signal()

    def __init__(
        self,
        controllers: Controllers,
        settings: SettingsStore,
        theme: Theme,
        language: Language,
        *,
        starter: Path | None,
    ) -> None:
        super().__init__()
        self._controllers = controllers
        self._settings = settings
        self._starter = starter
        self._chats_with: Path | None = None  # once it is converted
        self._is_painted = self._is_quitting = False
        self.appearance = Appearance(settings, theme, language, self)
        self.setWindowTitle("DeepInfer")
        self.setMinimumSize(640, 360)  # a screen of 1366 x 768 at 200 %
        self.desk = self._create_desk()
        self.setCentralWidget(self.desk)
        self.desk.show_page(self.desk.chat_page)
        self.tray = Tray(controllers.server, self)
        self.overlay = Drops(self)
        self._closing = Closing(controllers.conversion, self)
        self._connect()
        create_shortcuts(self)
        self._restore_geometry()

    # --- what is shown -------------------------------------------------------------------------

    @property
    def chat_page(self) -> ChatPage:
        """Of the desk, which is another one after the language was changed; so are the others."""
        return self.desk.chat_page

    @property
    def convert_page(self) -> ConvertPage:
        """Of the desk."""
        return self.desk.convert_page

    @property
    def validate_page(self) -> ValidatePage:
        """Of the desk."""
        return self.desk.validate_page

    @property
    def download_page(self) -> DownloadPage:
        """Of the desk."""
        return self.desk.download_page

    @property
    def server_page(self) -> ServerPage:
        """Of the desk."""
        return self.desk.server_page

    @property
    def library_page(self) -> LibraryPage:
        """Of the desk."""
        return self.desk.library_page

    @property
    def settings_page(self) -> SettingsPage:
        """Of the desk."""
        return self.desk.settings_page

    @property
    def banners(self) -> BannerStack:
        """Of the desk."""
        return self.desk.banners

    @property
    def navigation(self) -> NavigationRail:
        """Of the desk."""
        return self.desk.navigation

    def show_page(self, page: QWidget) -> None:
        """Brings a page to the front."""
        self.desk.show_page(page)

    def fit_into(self, available: QRect) -> None:
        """Makes a window that is larger than a screen's free area as large as that, title bar
        included: on a laptop of 1366 x 768 the first window had its composer below the screen.
        """
        room = available.size().shrunkBy(QMargins(0, _TITLE_BAR_PX, 0, 0))
        if not self.isMaximized() and self.size() != (fitting := self.size().boundedTo(room)):
            self.resize(fitting)
            self.move(available.topLeft())

    def come_forward(self) -> None:
        """To the front, from wherever it is."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def show_message(self, key: str, text: str, tone: BannerTone, detail: str = "") -> None:
        """Shows a sentence above every page until it is dismissed."""
        banner = Banner(shown(text), tone, detail=detail)
        self.banners.show_banner(key, banner, lambda _: self.show_message(key, text, tone, detail))

    def show_error(self, error: ErrorInfo) -> None:
        """Shows an error that belongs to no page."""
        banner = ProblemBanner(describe(error))
        banner.way_requested.connect(self.ways.go)
        self.banners.show_banner(error.message, banner, lambda _: self.show_error(error))

    def show_crash(self, report: Path, is_earlier: bool) -> None:
        """Something crashed, in an earlier run or just now; what was kept of it can be read."""
        text = self.tr("A part of the program crashed; a report was saved on this computer.")
        if is_earlier:
            text = self.tr("DeepInfer crashed; a report of it was saved on this computer.")
        banner = Banner(text, BannerTone.WARNING, action=self.tr("Show report"))
        banner.action_requested.connect(partial(self.ways.show_report, report))
        self.banners.show_banner("crash", banner, lambda _: self.show_crash(report, is_earlier))

    def renew_desk(self) -> None:
        """Another desk in place of this one, for another language; nothing that runs notices."""
        old, position = self.desk, self.desk.position
        old.chat_page.panel.sampling.flush()
        old.settings_page.flush()
        self.setUpdatesEnabled(False)
        with self.appearance.held_back():
            self.desk = self._create_desk()
            self.desk.resize(old.size())
            self.desk.take_over(old)
            old.chat_page.shutdown()
            self.setCentralWidget(self.desk)  # takes the old one away
            self.desk.show_page_at(position)
            if self.desk.current_page is self.settings_page:
                self.settings_page.rows["language"].control.setFocus()  # where it was
        QApplication.sendPostedEvents(old, QEvent.Type.DeferredDelete)
        self.tray.show_texts()
        self.setUpdatesEnabled(True)

    # --- commands ------------------------------------------------------------------------------

    def convert(self, sources: Sequence[Path]) -> None:
        """Starts (or queues) conversions as recommended, and shows them."""
        self.show_page(self.convert_page)
        self._controllers.conversion.enqueue(sources)

    def offer(self, sources: Sequence[Path]) -> None:
        """Plans conversions; each waits for the user's choice."""
        self.show_page(self.convert_page)
        self._controllers.conversion.enqueue(sources, start=False)

    def validate(self, sources: Sequence[Path]) -> None:
        """Validates the first of what was picked or dropped, and shows it."""
        self.show_page(self.validate_page)
        self._controllers.validation.validate(str(sources[0]))

    def chat_with(self, model_dir: Path) -> None:
        """Opens a new conversation with a checkpoint."""
        self.show_page(self.chat_page)
        self.chat_page.new_conversation()
        self.load_model(model_dir)

    def load_model(self, model_dir: Path) -> None:
        """Loads a checkpoint and remembers it for the next start."""
        values = self._settings.update(last_model=str(model_dir), uses_remote=False)
        fits = find_choice(model_dir, LoadChoice(values.max_model_len, values.kv_dtype))
        max_model_len = fits.max_model_len or None
        self._controllers.chat.load(
            LoadModel(model_dir, values.device, max_model_len, values.activations, fits.kv_dtype)
        )

    def configure_engine(self) -> None:
        """Tells the engine what the settings say of it."""
        values = self._settings.values
        idle_unload_s = values.idle_unload_min * 60.0 or None
        command = ConfigureEngine(idle_unload_s, keeps_conversations=values.keeps_kv)
        self._controllers.chat.engine.configure(command)
        self._controllers.chat.overflow = OverflowPolicy(values.overflow)

    def apply_setting(self, name: str) -> None:
        """Does what a setting says that was changed on its page."""
        self.appearance.apply(name)
        if name in ("idle_unload_min", "keeps_kv", "overflow"):
            self.configure_engine()

    def pick_files(self) -> None:
        """Asks for files to convert."""
        self.pick(self.offer, wants_folder=False)

    def pick_folder(self) -> None:
        """Asks for a folder to convert."""
        self.pick(self.offer, wants_folder=True)

    def pick(self, take: Callable[[Sequence[Path]], None], *, wants_folder: bool) -> None:
        """Asks for files, or for a folder, and hands them to `take`."""
        dialog = SourceDialog(wants_folder=wants_folder, parent=self)
        dialog.paths_chosen.connect(take)
        dialog.open()

    def convert_starter(self) -> None:
        """Converts the starter model."""
        if self._starter is not None:
            self.convert([self._starter])

    def open_path(self, path: Path) -> None:
        """A file or folder that the program was started with: it is talked with, where need be once
        it is converted.
        """
        checkpoint = find_checkpoint(path, self._controllers.disk.library_dir)
        if checkpoint is not None:
            self.chat_with(checkpoint)
        else:
            self._chats_with = path
            self.convert([path])

    def chat_with_starter(self) -> None:
        """Converts the starter model and opens a conversation with it as soon as it is there."""
        self._chats_with = self._starter
        self.convert_starter()

    def ask_for_remote(self) -> None:
        """Asks which other server shall answer."""
        RemoteDialog(self._controllers.remote, self).open()

    def show_shortcuts(self) -> None:
        """Shows all keys that do something."""
        ShortcutsDialog(list_shortcuts(self), self).open()

    def quit(self) -> None:
        """Ends the program, also where closing the window would leave it in the tray."""
        self._is_quitting = True
        QApplication.quit()

    # --- events --------------------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._shall_stay_in_tray:
            event.ignore()
            self.hide()
            self.tray.tell_hidden()
            return
        if not self._closing.is_free:
            event.ignore()
            self.come_forward()
            self._closing.ask()
            return
        self.settings_page.flush()
        geometry = self.saveGeometry().toBase64().data()
        self._settings.update(window_geometry=bytes(geometry).decode("ascii"))
        super().closeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._is_painted:
            self._is_painted = True
            self.painted.emit()

    @property
    def _shall_stay_in_tray(self) -> bool:
        server = self._controllers.server
        may_stay = self.tray.is_there and not self._is_quitting
        return may_stay and server.keeps_running and server.is_wanted

    def _on_closing_refused(self) -> None:
        self._is_quitting = False

    def _on_language_changed(self) -> None:
        """From the event loop: the menu that was clicked belongs to the desk that goes."""
        QTimer.singleShot(0, self, self.renew_desk)

    def _on_endpoint_chosen(self, endpoint: RemoteEndpoint) -> None:
        self._controllers.chat.load(ConnectRemote(endpoint))

    def _on_engine_lost(self) -> None:
        """The port is open again; it needs the model back, which nobody may be there to load."""
        self._show_engine_lost()
        if not self._controllers.chat.engine.is_remote:
            self._controllers.chat.restart()

    def _show_engine_lost(self) -> None:
        text = self.tr("The engine stopped unexpectedly; it was started again, as the port is on.")
        banner = Banner(text, BannerTone.WARNING)
        self.banners.show_banner("engine", banner, lambda _: self._show_engine_lost())

    def _on_conversion_finished(self, report: ConversionReport) -> None:
        self._controllers.library.refresh()
        job = self._controllers.conversion.current_job
        if job is not None and job.source == self._chats_with:
            self._chats_with = None
            if self.desk.current_page is self.convert_page:  # who went elsewhere stays there
                self.chat_with(report.output)

    def _on_conversion_unfinished(self) -> None:
        """Whoever has it converted later on asks for no conversation."""
        job = self._controllers.conversion.current_job
        if job is not None and job.source == self._chats_with:
            self._chats_with = None

    def _create_desk(self) -> Desk:
        has_starter = self._starter is not None
        desk = Desk(
            self._controllers, self._settings, self.appearance.mode, has_starter=has_starter
        )
        Wiring(desk, self._controllers, self)
        self.library_shell = LibraryShell(desk, self._controllers, self)
        self.ways = Ways(desk, self._controllers, self._settings, self)
        return desk

    def _connect(self) -> None:
        self.appearance.language_changed.connect(self._on_language_changed)
        self._controllers.server.engine_lost.connect(self._on_engine_lost)
        self._controllers.remote.endpoint_chosen.connect(self._on_endpoint_chosen)
        self._controllers.library.failed.connect(self.show_error)
        conversion = self._controllers.conversion
        conversion.finished.connect(self._on_conversion_finished)
        conversion.failed.connect(self._on_conversion_unfinished)
        conversion.cancelled.connect(self._on_conversion_unfinished)
        self.tray.show_requested.connect(self.come_forward)
        self.tray.quit_requested.connect(self.quit)
        self._closing.refused.connect(self._on_closing_refused)

    def _restore_geometry(self) -> None:
        self.resize(_FIRST_SIZE)
        if saved := self._settings.values.window_geometry:
            self.restoreGeometry(QByteArray.fromBase64(saved.encode("ascii", "replace")))
