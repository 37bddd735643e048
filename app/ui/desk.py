"""All of the window that speaks a language: its rail, its banners and its pages."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.core.settings_store import SettingsStore
from app.ui.controllers import Controllers
from app.ui.pages.chat_page import ChatPage
from app.ui.pages.convert_page import ConvertPage
from app.ui.pages.download_page import DownloadPage
from app.ui.pages.library_page import LibraryPage
from app.ui.pages.server_page import ServerPage
from app.ui.pages.settings_page import SettingsPage
from app.ui.pages.validate_page import ValidatePage
from app.ui.theme import ThemeMode
from app.ui.widgets.banner import BannerStack
from app.ui.widgets.navigation_rail import NavigationItem, NavigationRail
from app.ui.widgets.server_toggle import ServerToggle

_LEFT_BY_BANNERS_PX = 300  # a page has banners of its own


class Desk(QWidget):
    """Built around controllers that live longer; another one takes its place when the language
    changes, and shows what this one showed.
    """

    def __init__(
        self,
        controllers: Controllers,
        settings: SettingsStore,
        mode: ThemeMode,
        *,
        has_starter: bool,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.chat_page = ChatPage(controllers.chat, controllers.presets, has_starter=has_starter)
        self.convert_page = ConvertPage(controllers.conversion, has_starter=has_starter)
        self.validate_page = ValidatePage(controllers.validation)
        self.download_page = DownloadPage(controllers.download)
        self.server_page = ServerPage(controllers.server)
        self.library_page = LibraryPage(controllers.disk, has_starter=has_starter)
        self.settings_page = SettingsPage(settings)
        self.banners = BannerStack(left_free=_LEFT_BY_BANNERS_PX)
        self.navigation = NavigationRail(self._items(), mode)
        self.server_toggle = ServerToggle(controllers.server)
        self._pages = QStackedWidget()
        self._build()

    @property
    def current_page(self) -> QWidget | None:
        """What is in front."""
        return self._pages.currentWidget()

    def show_page(self, page: QWidget) -> None:
        """Brings a page to the front."""
        self.show_page_at(self._pages.indexOf(page))

    def show_page_at(self, position: int) -> None:
        """As `show_page`; pages count from the top of the rail."""
        self._pages.setCurrentIndex(position)
        self.navigation.select(position)
        if page := self.current_page:
            page.setFocus()

    def take_over(self, old: Desk) -> None:
        """Shows what `old` shows, which is about to go."""
        self.settings_page.take_over(old.settings_page)
        self.chat_page.take_over(old.chat_page)
        self.convert_page.take_over(old.convert_page)
        self.validate_page.take_over(old.validate_page)
        self.download_page.take_over(old.download_page)
        self.server_page.take_over(old.server_page)
        self.library_page.take_over(old.library_page)
        self.banners.take_over(old.banners)

    @property
    def position(self) -> int:
        """Of the page in front."""
        return self._pages.currentIndex()

    def _items(self) -> list[NavigationItem]:
        return [
            NavigationItem("chat", self.tr("Chat"), "Ctrl+1"),
            NavigationItem("convert", self.tr("Convert"), "Ctrl+2"),
            NavigationItem("validate", self.tr("Validate"), "Ctrl+3"),
            NavigationItem("download", self.tr("Download"), "Ctrl+4"),
            NavigationItem("server", self.tr("Server"), "Ctrl+5"),
            NavigationItem("library", self.tr("Library"), "Ctrl+6"),
            NavigationItem("settings", self.tr("Settings"), "Ctrl+,"),
        ]

    def _build(self) -> None:
        self.navigation.add_footer(self.server_toggle)
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
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.navigation)
        row.addLayout(body, 1)
        self.navigation.page_requested.connect(self.show_page_at)
