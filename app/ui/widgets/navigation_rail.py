"""The pages of the program, and the theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QActionGroup, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.accessible import TabInterface
from app.ui.icons import IconButton, render_icon
from app.ui.theme import ThemeMode, ui_font
from app.ui.widgets.tab_strip import TabStrip

# Logo, words, and the gap between two buttons.
_FORMS = ((True, True, 8), (False, True, 8), (False, False, 8), (False, False, 0))


@dataclass(frozen=True, slots=True)
class NavigationItem:
    """One page: its icon, its name, and the shortcut that the tool tip tells."""

    icon: str
    label: str
    shortcut: str


class _PageButton(IconButton):
    """The icon of a page and its name."""

    told_as = TabInterface

    def __init__(self, item: NavigationItem) -> None:
        super().__init__(item.icon, f"{item.label} ({item.shortcut})", size=22)
        self.setText(item.label)
        self.setFont(ui_font(0.86))
        self.setAccessibleName(item.label)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        self.setIconSize(QSize(22, 22))
        self.setMinimumWidth(68)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_kind("nav")


class NavigationRail(QFrame):
    """Signals:
    page_requested(int): the position of the page in the list given.
    theme_requested(ThemeMode)
    """

    page_requested = Signal(int)
    theme_requested = Signal(object)

    def __init__(
        self, items: Sequence[NavigationItem], mode: ThemeMode, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("navigation_rail")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.pages = TabStrip(self.tr("Pages"), QVBoxLayout())
        self.pages.chosen.connect(self.page_requested)
        self.theme_button = IconButton("theme", self.tr("Theme"))
        self._modes = QActionGroup(self)
        self.theme_button.setMenu(self._create_theme_menu(mode))
        self.theme_button.setFixedSize(36, 36)  # of itself 35: half a pixel beside the others
        self.theme_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._column = QVBoxLayout(self)
        self._logo = QLabel()
        self._build(items)

    def select(self, position: int) -> None:
        """Marks the page that is shown."""
        self.pages.select(position)

    def button(self, position: int) -> QToolButton:
        """The button of one page."""
        return self.pages.buttons[position]

    def add_footer(self, widget: QWidget) -> None:
        """Shows what is to be seen from every page, above the theme's button."""
        self._column.insertWidget(
            self._column.count() - 1, widget, alignment=Qt.AlignmentFlag.AlignHCenter
        )

    def show_theme(self, mode: ThemeMode) -> None:
        """Marks the theme that is chosen."""
        for action in self._modes.actions():
            action.setChecked(ThemeMode(action.data()) is mode)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit(event.size().height())

    def _fit(self, height: int) -> None:
        """A low window shows no logo, a lower one no words, the lowest leaves no gaps."""
        for has_logo, has_words, spacing in _FORMS:
            self._column.setSpacing(spacing)
            self._logo.setVisible(has_logo)
            style = (
                Qt.ToolButtonStyle.ToolButtonTextUnderIcon
                if has_words
                else Qt.ToolButtonStyle.ToolButtonIconOnly
            )
            for button in self.pages.buttons:
                button.setToolButtonStyle(style)
            self.pages.set_spacing(spacing)
            self._column.invalidate()
            if self._column.sizeHint().height() <= height:
                return

    def _build(self, items: Sequence[NavigationItem]) -> None:
        layout = self._column
        layout.setContentsMargins(8, 12, 8, 10)
        self._logo.setPixmap(render_icon("app", "", 36))
        self._logo.setContentsMargins(0, 0, 0, 10)
        layout.addWidget(self._logo, alignment=Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(self.pages)
        for item in items:
            self.pages.add(_PageButton(item))
        layout.addStretch()
        layout.addWidget(self.theme_button, alignment=Qt.AlignmentFlag.AlignHCenter)

    def _create_theme_menu(self, mode: ThemeMode) -> QMenu:
        labels = {
            ThemeMode.SYSTEM: self.tr("Follow the system"),
            ThemeMode.LIGHT: self.tr("Light"),
            ThemeMode.DARK: self.tr("Dark"),
        }
        menu = QMenu(self)
        menu.setAccessibleName(self.theme_button.accessibleName())
        for choice, label in labels.items():
            action = menu.addAction(label)
            action.setCheckable(True)
            action.setData(choice)
            self._modes.addAction(action)
        self._modes.triggered.connect(
            lambda action: self.theme_requested.emit(ThemeMode(action.data()))
        )
        self.show_theme(mode)
        return menu
