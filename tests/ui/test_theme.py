"""Both themes: legible by WCAG, complete, and switched while the window is open."""

from __future__ import annotations

import re
from dataclasses import asdict

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QToolButton

from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.highlight import TokenKind
from app.ui.theme import (
    DARK,
    LIGHT,
    ThemeMode,
    Tokens,
    contrast_ratio,
    create_style_sheet,
    current_tokens,
)

THEMES = pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
TEXT_RATIO, CONTROL_RATIO = 4.5, 3.0

TEXT_PAIRS = [
    *[
        (text, ground)
        for text in ("text", "muted")
        for ground in ("window", "surface", "sunken", "hover")
    ],
    *[("text", f"{tone}_soft") for tone in ("accent", "success", "warning", "danger")],
    *[(tone, "surface") for tone in ("accent", "success", "warning", "danger")],
    *[(tone, f"{tone}_soft") for tone in ("accent", "success")],
    *[(kind.value, "sunken") for kind in TokenKind],
    ("text", "rail"),
    ("muted", "rail"),
    ("muted", "accent_soft"),
    ("accent", "window"),
    ("on_accent", "accent"),
    ("on_accent", "accent_hover"),
]
CONTROL_PAIRS = [
    *[("control_border", ground) for ground in ("window", "surface")],
    *[("accent", ground) for ground in ("window", "surface", "sunken", "rail")],
    *[(plot, "window") for plot in ("plot_weights", "plot_kv", "plot_workspace", "plot_rest")],
]


def test_contrast_ratio_matches_the_published_extremes() -> None:
    assert contrast_ratio("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast_ratio("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@THEMES
@pytest.mark.parametrize(("text", "ground"), TEXT_PAIRS)
def test_text_is_legible(tokens: Tokens, text: str, ground: str) -> None:
    colours = asdict(tokens)
    assert contrast_ratio(colours[text], colours[ground]) >= TEXT_RATIO


@THEMES
@pytest.mark.parametrize(("mark", "ground"), CONTROL_PAIRS)
def test_controls_stand_out(tokens: Tokens, mark: str, ground: str) -> None:
    colours = asdict(tokens)
    assert contrast_ratio(colours[mark], colours[ground]) >= CONTROL_RATIO


@THEMES
def test_style_sheet_is_complete(tokens: Tokens) -> None:
    rules = re.sub(r"/\*.*?\*/", "", create_style_sheet(tokens), flags=re.DOTALL)
    assert "@" not in rules
    assert tokens.accent in rules


def test_menu_switches_the_theme_at_once_and_remembers_it(program: Program) -> None:
    actions = {action.data(): action for action in _theme_button(program).menu().actions()}
    for mode, tokens in ((ThemeMode.DARK, DARK), (ThemeMode.LIGHT, LIGHT)):
        actions[mode].trigger()
        assert current_tokens() is tokens
        assert tokens.window in QApplication.instance().styleSheet()
        assert _background(program) == tokens.window
        assert SettingsStore(settings_path()).values.theme == mode.value


def test_system_mode_follows_the_desktop(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program.theme.set_mode(ThemeMode.SYSTEM)
    for is_dark in (True, False):
        monkeypatch.setattr("app.ui.theme.system_is_dark", lambda is_dark=is_dark: is_dark)
        QApplication.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Unknown)
        assert current_tokens() is (DARK if is_dark else LIGHT)


def _theme_button(program: Program) -> QToolButton:
    buttons = program.window.findChildren(QToolButton)
    return next(button for button in buttons if button.accessibleName() == "Theme")


def _background(program: Program) -> str:
    image = program.window.chat_page.grab().toImage()
    return image.pixelColor(image.width() // 2, image.height() // 4).name()
