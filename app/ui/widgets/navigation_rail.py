"""The pages of the program, and the theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QActionGroup, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.icons import IconButton, render_icon
from app.ui.theme import ThemeMode, ui_font

# Logo, words, and the gap between two buttons.
_FORMS = ((True, True, 8), (False, True, 8), (False, False, 8), (False, False, 0))


@dataclass(frozen=True, slots=True)
class NavigationItem:
    """One page: its icon, its name, and the shortcut that the tool tip tells."""

    icon: str
    label: str
    shortcut: str


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
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(self.page_requested)
        self.theme_button = IconButton("theme", self.tr("Theme"))
        self._modes = QActionGroup(self)
        self.theme_button.setMenu(self._create_theme_menu(mode))
        self.theme_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._column = QVBoxLayout(self)
        self._logo = QLabel()
        self._build(items)

    def select(self, position: int) -> None:
        """Marks the page that is shown."""
        self._group.button(position).setChecked(True)

    def button(self, position: int) -> QToolButton:
        """The button of one page."""
        return self._group.button(position)  # type: ignore[return-value]

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
            for button in self._group.buttons():
                button.setToolButtonStyle(style)  # type: ignore[attr-defined]
            self._column.invalidate()
            if self._column.sizeHint().height() <= height:
                return

    def _build(self, items: Sequence[NavigationItem]) -> None:
        layout = self._column
        layout.setContentsMargins(8, 12, 8, 10)
        self._logo.setPixmap(render_icon("app", "", 36))
        self._logo.setContentsMargins(0, 0, 0, 10)
        layout.addWidget(self._logo, alignment=Qt.AlignmentFlag.AlignHCenter)
        for position, item in enumerate(items):
            button = self._create_button(item)
            self._group.addButton(button, position)
            layout.addWidget(button)
        layout.addStretch()
        layout.addWidget(self.theme_button, alignment=Qt.AlignmentFlag.AlignHCenter)

    def _create_button(self, item: NavigationItem) -> QToolButton:
        button = IconButton(item.icon, f"{item.label} ({item.shortcut})", size=22)
        button.setText(item.label)
        button.setFont(ui_font(0.86))
        button.setAccessibleName(item.label)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        button.setIconSize(QSize(22, 22))
        button.setCheckable(True)
        button.setMinimumWidth(68)
        button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        button.set_kind("nav")
        return button

    def _create_theme_menu(self, mode: ThemeMode) -> QMenu:
        labels = {
            ThemeMode.SYSTEM: self.tr("Follow the system"),
            ThemeMode.LIGHT: self.tr("Light"),
            ThemeMode.DARK: self.tr("Dark"),
        }
        menu = QMenu(self)
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
