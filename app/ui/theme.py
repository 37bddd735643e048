"""The look in one place: colour tokens of both themes, the palette and style sheet made of them.

Widgets name a role (`kind`, `tone`, `card` properties) and never a colour; painted widgets take
`current_tokens()`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from app.core.paths import resources_dir
from app.ui.accents import DARK_SHADES, LIGHT_SHADES, Accent, Shades


class ThemeMode(StrEnum):
    """What the user chose; `SYSTEM` follows the desktop while the program runs."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Tokens:
    """One theme's colours by purpose, as `#rrggbb`."""

    is_dark: bool
    window: str
    rail: str
    surface: str
    sunken: str
    hover: str
    border: str
    control_border: str
    text: str
    muted: str
    accent: str
    accent_hover: str
    on_accent: str
    accent_soft: str
    success: str
    success_soft: str
    warning: str
    warning_soft: str
    danger: str
    danger_soft: str
    plot_weights: str
    plot_kv: str
    plot_workspace: str
    plot_rest: str
    code_name: str


LIGHT = Tokens(
    is_dark=False,
    window="#f6f7f9",
    rail="#eceef3",
    surface="#ffffff",
    sunken="#f0f2f6",
    hover="#e6e9f0",
    border="#dfe3ea",
    control_border="#858e9e",
    text="#1a1e26",
    muted="#586172",
    accent="#4250d0",
    accent_hover="#3541b5",
    on_accent="#ffffff",
    accent_soft="#e7e9fc",
    success="#14703f",
    success_soft="#e0f4e8",
    warning="#875400",
    warning_soft="#fdf1d8",
    danger="#b3261e",
    danger_soft="#fce8e6",
    plot_weights="#4250d0",
    plot_kv="#1b8b7f",
    plot_workspace="#b9770f",
    plot_rest="#818a9c",
    code_name="#0b6961",
)

DARK = Tokens(
    is_dark=True,
    window="#15171c",
    rail="#101216",
    surface="#1d2027",
    sunken="#252932",
    hover="#2d323d",
    border="#30353f",
    control_border="#737d8f",
    text="#e8ebf1",
    muted="#a2abbb",
    accent="#95a2ff",
    accent_hover="#acb6ff",
    on_accent="#11142b",
    accent_soft="#2a2f52",
    success="#5fd39b",
    success_soft="#173527",
    warning="#ecb34c",
    warning_soft="#3a2d12",
    danger="#ff8f87",
    danger_soft="#43201e",
    plot_weights="#95a2ff",
    plot_kv="#4fc9ba",
    plot_workspace="#ecb34c",
    plot_rest="#7d8799",
    code_name="#4fc9ba",
)

# Latin first, then each platform's Chinese face: Qt takes the first family that has the character.
UI_FAMILIES = (
    "Segoe UI Variable Text",
    "Segoe UI",
    "Inter",
    "Noto Sans",
    "DejaVu Sans",
    "Microsoft YaHei UI",
    "PingFang SC",
    "Noto Sans CJK SC",
    "WenQuanYi Micro Hei",
)
MONO_FAMILIES = (
    "Cascadia Mono",
    "Consolas",
    "JetBrains Mono",
    "DejaVu Sans Mono",
    "Noto Sans Mono",
    "Noto Sans Mono CJK SC",
    "monospace",
)

_BASE_POINT_SIZE = 10.5


def ui_font(scale: float = 1.0, *, bold: bool = False) -> QFont:
    """The interface's face at `scale` times the base size, which the application's font is."""
    font = QFont()
    font.setFamilies(list(UI_FAMILIES))
    font.setPointSizeF(QApplication.font().pointSizeF() * scale)
    font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    return font


def _base_font(percent: int) -> QFont:
    font = QFont()
    font.setFamilies(list(UI_FAMILIES))
    font.setPointSizeF(_BASE_POINT_SIZE * percent / 100)
    return font


def mono_font(scale: float = 0.95) -> QFont:
    """The face of code."""
    font = QFont()
    font.setFamilies(list(MONO_FAMILIES))
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setPointSizeF(QApplication.font().pointSizeF() * scale)
    return font


def current_tokens() -> Tokens:
    """The tokens of the theme that is applied: the palette is the only state."""
    palette = QApplication.palette()
    is_dark = palette.color(QPalette.ColorRole.Window).lightness() < 128
    accent = palette.color(QPalette.ColorRole.Accent).name()
    return _BY_LOOK.get((is_dark, accent), DARK if is_dark else LIGHT)


def tokens_of(*, is_dark: bool, accent: Accent = Accent.INDIGO) -> Tokens:
    """A theme's tokens with an accent of the user's choice."""
    shades = (DARK_SHADES if is_dark else LIGHT_SHADES)[accent]
    return _BY_LOOK[is_dark, shades.accent]


def _with_accents(base: Tokens, shades: Mapping[Accent, Shades]) -> Iterator[Tokens]:
    for one in shades.values():
        changed = replace(base, **asdict(one))
        yield base if changed == base else changed


_BY_LOOK = {
    (tokens.is_dark, tokens.accent): tokens
    for base, shades in ((LIGHT, LIGHT_SHADES), (DARK, DARK_SHADES))
    for tokens in _with_accents(base, shades)
}


def create_palette(tokens: Tokens) -> QPalette:
    """The palette that native parts (menus, tool tips, selections, file dialogs) use."""
    roles = {
        QPalette.ColorRole.Window: tokens.window,
        QPalette.ColorRole.WindowText: tokens.text,
        QPalette.ColorRole.Base: tokens.surface,
        QPalette.ColorRole.AlternateBase: tokens.sunken,
        QPalette.ColorRole.Text: tokens.text,
        QPalette.ColorRole.PlaceholderText: tokens.muted,
        QPalette.ColorRole.Button: tokens.surface,
        QPalette.ColorRole.ButtonText: tokens.text,
        QPalette.ColorRole.ToolTipBase: tokens.sunken,
        QPalette.ColorRole.ToolTipText: tokens.text,
        QPalette.ColorRole.Highlight: tokens.accent,
        QPalette.ColorRole.HighlightedText: tokens.on_accent,
        QPalette.ColorRole.Link: tokens.accent,
        QPalette.ColorRole.LinkVisited: tokens.accent,
        QPalette.ColorRole.Accent: tokens.accent,
        QPalette.ColorRole.BrightText: tokens.danger,
        QPalette.ColorRole.Mid: tokens.border,
    }
    palette = QPalette()
    for role, colour in roles.items():
        palette.setColor(role, QColor(colour))
    for role in (
        QPalette.ColorRole.WindowText,
        QPalette.ColorRole.Text,
        QPalette.ColorRole.ButtonText,
    ):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(tokens.muted))
    return palette


def create_style_sheet(tokens: Tokens) -> str:
    """`resources/styles/app.qss` with every `@token` and the path of the tick replaced."""
    text = (resources_dir() / "styles" / "app.qss").read_text(encoding="utf-8")
    tick = resources_dir() / "icons" / f"tick_on_{'dark' if tokens.is_dark else 'light'}.svg"
    text = text.replace("@tick_image", tick.as_posix())
    for name, value in sorted(asdict(tokens).items(), key=lambda item: -len(item[0])):
        text = text.replace(f"@{name}", str(value))
    return text


def system_is_dark() -> bool:
    """What the desktop says right now."""
    return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark


class Theme(QObject):
    """Applies the chosen mode to the application and follows the desktop when asked to."""

    def __init__(
        self,
        app: QApplication,
        mode: ThemeMode,
        font_percent: int = 100,
        accent: Accent = Accent.INDIGO,
    ) -> None:
        super().__init__()
        self._app = app
        self._accent = accent
        self._mode = mode
        self._applied: Tokens | None = None
        app.setStyle("Fusion")
        app.setFont(_base_font(font_percent))
        app.styleHints().colorSchemeChanged.connect(self._on_desktop_scheme_changed)
        self.set_mode(mode)

    @property
    def mode(self) -> ThemeMode:
        """What the user chose."""
        return self._mode

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Widgets made meanwhile are styled at the end, all at once: where a style sheet is there
        already, each is styled again whenever it gets another parent, which was half of the time
        that making the window took."""
        sheet = self._app.styleSheet()
        self._app.setStyleSheet("")
        try:
            yield
        finally:
            self._app.setStyleSheet(sheet)

    def set_mode(self, mode: ThemeMode) -> None:
        """Changes the look at once; the title bar follows where the platform can."""
        self._mode = mode
        schemes = {ThemeMode.LIGHT: Qt.ColorScheme.Light, ThemeMode.DARK: Qt.ColorScheme.Dark}
        self._app.styleHints().setColorScheme(schemes.get(mode, Qt.ColorScheme.Unknown))
        self._apply()

    def set_accent(self, accent: Accent) -> None:
        """Changes the accent at once."""
        self._accent = accent
        self._apply()

    def set_font_percent(self, percent: int) -> None:
        """Changes the size of all text at once, also of widgets that have a size of their own."""
        factor = percent * _BASE_POINT_SIZE / 100 / self._app.font().pointSizeF()
        if factor == 1:
            return
        own = [
            (widget, widget.font())
            for widget in self._app.allWidgets()
            if widget.testAttribute(Qt.WidgetAttribute.WA_SetFont)
        ]
        with self.held_back():  # and what was polished would keep its old font
            self._app.setFont(_base_font(percent))
        for widget, font in own:
            font.setPointSizeF(font.pointSizeF() * factor)
            widget.setFont(font)

    def _on_desktop_scheme_changed(self) -> None:
        if self._mode is ThemeMode.SYSTEM:
            self._apply()

    def _apply(self) -> None:
        is_dark = (
            system_is_dark() if self._mode is ThemeMode.SYSTEM else self._mode is ThemeMode.DARK
        )
        tokens = tokens_of(is_dark=is_dark, accent=self._accent)
        if tokens is self._applied:
            return
        self._applied = tokens
        self._app.setPalette(create_palette(tokens))
        self._app.setStyleSheet(create_style_sheet(tokens))


def set_role(widget: QWidget, name: str, value: str | bool) -> None:
    """Sets a property that the style sheet selects on, and restyles the widget."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))  # frames measure their margins


def make_large(button: QPushButton) -> None:
    """The one thing to do next."""
    button.setFont(ui_font(1.14))
    set_role(button, "size", "large")
