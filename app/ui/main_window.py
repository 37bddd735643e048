"""The window's shell: navigation, drops anywhere, shortcuts and messages. Pages do the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QByteArray, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QPaintEvent, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.controllers.remote_link import ConnectRemote
from app.core.events import ErrorInfo
from app.core.settings import SETTING_FIELDS
from app.core.settings_store import SettingsStore
from app.engine.request import OverflowPolicy
from app.remote.endpoint import RemoteEndpoint
from app.ui.controllers import Controllers
from app.ui.dialogs.close_dialog import CloseDialog
from app.ui.dialogs.remote_dialog import RemoteDialog
from app.ui.dialogs.source_dialog import SourceDialog
from app.ui.library_shell import LibraryShell
from app.ui.pages.chat_page import ChatPage
from app.ui.pages.convert_page import ConvertPage
from app.ui.pages.download_page import DownloadPage
from app.ui.pages.library_page import LibraryPage
from app.ui.pages.server_page import ServerPage
from app.ui.pages.settings_page import SettingsPage
from app.ui.pages.validate_page import ValidatePage
from app.ui.theme import Theme, ThemeMode
from app.ui.tray import Tray
from app.ui.widgets.banner import Banner, BannerStack, BannerTone
from app.ui.widgets.drop_overlay import DropOverlay, DropUse
from app.ui.widgets.navigation_rail import NavigationItem, NavigationRail
from app.ui.widgets.server_toggle import ServerToggle
from app.workers.commands import ConfigureEngine, LoadModel

_ZOOM_STEP_PERCENT = 10
_MODEL_ENDS = (".gguf", ".safetensors", ".bin", ".pt", ".pth")


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
        *,
        starter: Path | None,
    ) -> None:
        super().__init__()
        self._controllers = controllers
        self._settings = settings
        self._theme = theme
        self._starter = starter
        self._is_painted = False
        self._may_interrupt = self._is_quitting = False
        self._close_dialog: CloseDialog | None = None
        self.chat_page = ChatPage(
            controllers.chat, controllers.presets, has_starter=starter is not None
        )
        self.convert_page = ConvertPage(controllers.conversion, has_starter=starter is not None)
        self.validate_page = ValidatePage(controllers.validation)
        self.download_page = DownloadPage(controllers.download)
        self.server_page = ServerPage(controllers.server)
        self.library_page = LibraryPage(controllers.disk, has_starter=starter is not None)
        self.settings_page = SettingsPage(settings)
        self.banners = BannerStack()
        self._pages = QStackedWidget()
        self.navigation = NavigationRail(
            [
                NavigationItem("chat", self.tr("Chat"), "Ctrl+1"),
                NavigationItem("convert", self.tr("Convert"), "Ctrl+2"),
                NavigationItem("validate", self.tr("Validate"), "Ctrl+3"),
                NavigationItem("download", self.tr("Download"), "Ctrl+4"),
                NavigationItem("server", self.tr("Server"), "Ctrl+5"),
                NavigationItem("library", self.tr("Library"), "Ctrl+6"),
                NavigationItem("settings", self.tr("Settings"), "Ctrl+,"),
            ],
            theme.mode,
        )
        self.server_toggle = ServerToggle(controllers.server)
        self.navigation.add_footer(self.server_toggle)
        self.tray = Tray(controllers.server, self)
        self.overlay = DropOverlay(self, self._drop_use)
        self._build()
        self.overlay.paths_dropped.connect(self._on_overlay_paths_dropped)
        self._connect()
        self.library_shell = LibraryShell(self.library_page, controllers, self)
        self._create_shortcuts()
        self._restore_geometry()

    def show_page(self, page: QWidget) -> None:
        """Brings a page to the front."""
        self._on_page_requested(self._pages.indexOf(page))

    def come_forward(self) -> None:
        """To the front, from wherever it is."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def convert(self, sources: Sequence[Path]) -> None:
        """Starts (or queues) conversions as recommended, and shows them."""
        self.show_page(self.convert_page)
        self._controllers.conversion.enqueue(sources)

    def offer(self, sources: Sequence[Path]) -> None:
        """Plans conversions; each waits for the user's choice."""
        self.show_page(self.convert_page)
        self._controllers.conversion.enqueue(sources, start=False)

    def chat_with(self, model_dir: Path) -> None:
        """Opens a new conversation with a checkpoint."""
        self.show_page(self.chat_page)
        self.chat_page.new_conversation()
        self.load_model(model_dir)

    def load_model(self, model_dir: Path) -> None:
        """Loads a checkpoint and remembers it for the next start."""
        values = self._settings.update(last_model=str(model_dir), uses_remote=False)
        max_model_len = values.max_model_len or None
        self._controllers.chat.load(
            LoadModel(model_dir, values.device, max_model_len, values.activations, values.kv_dtype)
        )

    def configure_engine(self) -> None:
        """Tells the engine what the settings say of it."""
        values = self._settings.values
        idle_unload_s = values.idle_unload_min * 60.0 or None
        command = ConfigureEngine(idle_unload_s, keeps_conversations=values.keeps_kv)
        self._controllers.chat.engine.configure(command)
        self._controllers.chat.overflow = OverflowPolicy(values.overflow)

    def show_message(self, key: str, text: str, tone: BannerTone, detail: str = "") -> None:
        """Shows a sentence above every page until it is dismissed."""
        self.banners.show_banner(key, Banner(text, tone, detail=detail))

    def show_error(self, error: ErrorInfo) -> None:
        """Shows an error that belongs to no page."""
        self.show_message(error.message, error.message, BannerTone.DANGER, error.detail)

    def pick_files(self) -> None:
        """Asks for files to convert."""
        self._pick(self.offer, wants_folder=False)

    def pick_folder(self) -> None:
        """Asks for a folder to convert."""
        self._pick(self.offer, wants_folder=True)

    def convert_starter(self) -> None:
        """Converts the starter model."""
        if self._starter is not None:
            self.convert([self._starter])

    def quit(self) -> None:
        """Ends the program, also where closing the window would leave it in the tray."""
        self._is_quitting = True
        QApplication.quit()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._shall_stay_in_tray:
            event.ignore()
            self.hide()
            self.tray.tell_hidden()
            return
        if self._controllers.conversion.is_converting and not self._may_interrupt:
            event.ignore()
            self._is_quitting = False
            self.come_forward()
            self._ask_to_close()
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

    def _ask_to_close(self) -> None:
        job = self._controllers.conversion.current_job
        if job is None or self._close_dialog is not None:
            return
        dialog = CloseDialog(job.source.name, self)
        dialog.accepted.connect(self._on_close_accepted)
        dialog.finished.connect(self._on_close_answered)
        self._close_dialog = dialog
        dialog.open()

    def _on_close_answered(self) -> None:
        self._close_dialog = None

    def _on_close_accepted(self) -> None:
        self._may_interrupt = True
        self.close()

    def _on_conversion_state_changed(self) -> None:
        """There is nothing left to interrupt: the question is void."""
        if self._close_dialog is not None and not self._controllers.conversion.is_converting:
            self._close_dialog.reject()

    def validate(self, sources: Sequence[Path]) -> None:
        """Validates the first of what was picked or dropped, and shows it."""
        self.show_page(self.validate_page)
        self._controllers.validation.validate(str(sources[0]))

    def _on_overlay_paths_dropped(self, paths: Sequence[Path]) -> None:
        take = {
            DropUse.CHECK: self.validate,
            DropUse.CONVERT: self.offer,
            DropUse.ATTACH: self.chat_page.attacher.attach,
        }
        take[self._drop_use(paths)](paths)

    def _drop_use(self, paths: Sequence[Path]) -> DropUse:
        """A page that takes files itself gets them; everywhere else they are converted."""
        page = self._pages.currentWidget()
        if page is self.validate_page:
            return DropUse.CHECK
        are_models = any(path.is_dir() or path.suffix.lower() in _MODEL_ENDS for path in paths)
        return DropUse.ATTACH if page is self.chat_page and not are_models else DropUse.CONVERT

    def _on_page_requested(self, position: int) -> None:
        self._pages.setCurrentIndex(position)
        self.navigation.select(position)
        if page := self._pages.currentWidget():
            page.setFocus()

    def _on_theme_requested(self, mode: ThemeMode) -> None:
        self._theme.set_mode(mode)
        self._settings.update(theme=mode.value)
        self.settings_page.refresh()

    def _on_setting_changed(self, name: str) -> None:
        values = self._settings.values
        if name == "theme":
            self._theme.set_mode(ThemeMode(values.theme))
            self.navigation.show_theme(self._theme.mode)
        elif name == "font_percent":
            self._theme.set_font_percent(values.font_percent)
        elif name in ("idle_unload_min", "keeps_kv", "overflow"):
            self.configure_engine()

    def _zoom(self, steps: int) -> None:
        """`steps` larger; 0 is back to the usual size."""
        wanted = self._settings.values.font_percent + steps * _ZOOM_STEP_PERCENT if steps else 100
        declared = SETTING_FIELDS["font_percent"].metadata
        percent = int(min(max(wanted, declared["least"]), declared["most"]))
        self._settings.update(font_percent=percent)
        self._theme.set_font_percent(percent)
        self.settings_page.refresh()

    def _on_server_requests_changed(self) -> None:
        self.chat_page.panel.show_port(len(self._controllers.server.log.running))

    def _ask_for_remote(self) -> None:
        RemoteDialog(self._controllers.remote, self).open()

    def _on_endpoint_chosen(self, endpoint: RemoteEndpoint) -> None:
        self._controllers.chat.load(ConnectRemote(endpoint))

    def _on_engine_lost(self) -> None:
        """The port is open again; it needs the model back, which nobody may be there to load."""
        text = self.tr("The engine stopped unexpectedly; it was started again, as the port is on.")
        self.show_message("engine", text, BannerTone.WARNING)
        if not self._controllers.chat.engine.is_remote:
            self._controllers.chat.restart()

    def _on_conversion_finished(self) -> None:
        self._controllers.library.refresh()

    def _pick(self, take: Callable[[Sequence[Path]], None], *, wants_folder: bool) -> None:
        dialog = SourceDialog(wants_folder=wants_folder, parent=self)
        dialog.paths_chosen.connect(take)
        dialog.open()

    def _restore_geometry(self) -> None:
        self.resize(1320, 860)
        if saved := self._settings.values.window_geometry:
            self.restoreGeometry(QByteArray.fromBase64(saved.encode("ascii", "replace")))

    def _build(self) -> None:
        self.setWindowTitle("DeepInfer")
        self.setMinimumSize(720, 560)
        for page in (
            self.chat_page,
            self.convert_page,
            self.validate_page,
            self.download_page,
            self.server_page,
            self.library_page,
            self.settings_page,
        ):
            self._pages.addWidget(page)
        body = QVBoxLayout()
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(0)
        body.addWidget(self.banners)
        body.addWidget(self._pages, 1)
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.navigation)
        row.addLayout(body, 1)
        self.setCentralWidget(content)
        self.show_page(self.chat_page)

    def _connect(self) -> None:
        self.navigation.page_requested.connect(self._on_page_requested)
        self.navigation.theme_requested.connect(self._on_theme_requested)
        self.settings_page.changed.connect(self._on_setting_changed)
        self.convert_page.file_requested.connect(self.pick_files)
        self.convert_page.folder_requested.connect(self.pick_folder)
        self.convert_page.starter_requested.connect(self.convert_starter)
        self.convert_page.chat_requested.connect(self.chat_with)
        page = self.validate_page
        page.file_requested.connect(lambda: self._pick(self.validate, wants_folder=False))
        page.folder_requested.connect(lambda: self._pick(self.validate, wants_folder=True))
        page.convert_requested.connect(lambda source: self.offer([Path(source)]))
        choose_model = partial(self._do_on_chat, self.chat_page.show_model_menu)
        self.server_page.model_requested.connect(choose_model)
        server = self._controllers.server
        server.model_changed.connect(self.server_page.show_model)
        server.engine_lost.connect(self._on_engine_lost)
        self.tray.show_requested.connect(self.come_forward)
        self.tray.quit_requested.connect(self.quit)
        server.requests_changed.connect(self._on_server_requests_changed)
        self.chat_page.top_bar.picker.remote_requested.connect(self._ask_for_remote)
        self._controllers.remote.endpoint_chosen.connect(self._on_endpoint_chosen)
        self.download_page.convert_requested.connect(lambda path: self.convert([path]))
        self.chat_page.pick_requested.connect(self.pick_files)
        self.chat_page.starter_requested.connect(self.convert_starter)
        self.chat_page.model_requested.connect(self.load_model)
        self._controllers.library.entries_changed.connect(self.chat_page.set_entries)
        self._controllers.library.failed.connect(self.show_error)
        self._controllers.conversion.finished.connect(self._on_conversion_finished)
        self._controllers.conversion.state_changed.connect(self._on_conversion_state_changed)

    def _create_shortcuts(self) -> None:
        chat = self.chat_page
        everywhere: dict[str, Callable[[], object]] = {
            "Ctrl+O": self.pick_files,
            "Ctrl+Q": self.close,
            "Ctrl+1": lambda: self.show_page(chat),
            "Ctrl+2": lambda: self.show_page(self.convert_page),
            "Ctrl+3": lambda: self.show_page(self.validate_page),
            "Ctrl+4": lambda: self.show_page(self.download_page),
            "Ctrl+5": lambda: self.show_page(self.server_page),
            "Ctrl+6": lambda: self.show_page(self.library_page),
            "Ctrl+,": lambda: self.show_page(self.settings_page),
            "Ctrl+=": lambda: self._zoom(1),
            "Ctrl++": lambda: self._zoom(1),
            "Ctrl+-": lambda: self._zoom(-1),
            "Ctrl+0": lambda: self._zoom(0),
            "Ctrl+B": chat.toggle_conversations,
            "Ctrl+Shift+B": chat.toggle_panel,
            "Ctrl+R": chat.regenerate,
            "Alt+Return": self._controllers.chat.continue_reply,
            "Esc": chat.stop_reply,
        }
        on_chat = {
            "Ctrl+N": chat.new_conversation,
            "Ctrl+L": chat.show_model_menu,
            "Ctrl+F": chat.focus_search,
        }
        for keys, slot in everywhere.items():
            QShortcut(QKeySequence(keys), self).activated.connect(slot)
        for keys, slot in on_chat.items():
            QShortcut(QKeySequence(keys), self).activated.connect(partial(self._do_on_chat, slot))

    def _do_on_chat(self, slot: Callable[[], object]) -> None:
        self.show_page(self.chat_page)
        slot()
