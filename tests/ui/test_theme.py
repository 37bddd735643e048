"""Both themes: legible by WCAG, complete, and switched while the window is open."""

from __future__ import annotations

import re
from dataclasses import asdict

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from app.core.paths import settings_path
from app.core.settings import SETTING_FIELDS
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.accents import Accent
from app.ui.highlight import TokenKind
from app.ui.theme import (
    DARK,
    LIGHT,
    ThemeMode,
    Tokens,
    create_style_sheet,
    current_tokens,
    tokens_of,
)
from app.ui.widgets.calm_spin_box import CalmSpinBox
from app.ui.widgets.card import Card
from app.ui.widgets.choice_button import ChoiceButton

LOOKS = [
    tokens_of(is_dark=is_dark, accent=accent) for is_dark in (False, True) for accent in Accent
]
THEMES = pytest.mark.parametrize(
    "tokens",
    LOOKS,
    ids=lambda tokens: f"{'dark' if tokens.is_dark else 'light'}-{tokens.accent}",
)
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
    # Links: on pages, in cards and rows, in messages; under the pointer.
    *[("accent", ground) for ground in ("window", "sunken", "hover", "rail")],
    *[("accent", f"{tone}_soft") for tone in ("danger", "warning")],
    # Sentences of errors on a page, the port's state on the rail, badges.
    *[(tone, ground) for tone in ("success", "warning", "danger") for ground in ("window", "rail")],
    *[(tone, f"{tone}_soft") for tone in ("warning", "danger")],
    # Help in messages; what is disabled is muted, and still read.
    *[("muted", f"{tone}_soft") for tone in ("danger", "warning")],
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


def too_faint(tokens: Tokens, pairs: list[tuple[str, str]], least: float) -> list[str]:
    colours = asdict(tokens)
    ratios = {(a, b): contrast_ratio(colours[a], colours[b]) for a, b in pairs}
    return [f"{a} on {b}: {ratio:.2f}" for (a, b), ratio in ratios.items() if ratio < least]


@THEMES
def test_text_is_legible(tokens: Tokens) -> None:
    assert too_faint(tokens, TEXT_PAIRS, TEXT_RATIO) == []


@THEMES
def test_controls_stand_out(tokens: Tokens) -> None:
    assert too_faint(tokens, CONTROL_PAIRS, CONTROL_RATIO) == []


def test_the_own_accent_is_the_theme_as_it_is_declared() -> None:
    assert [tokens_of(is_dark=is_dark) for is_dark in (False, True)] == [LIGHT, DARK]


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


def test_an_accent_is_taken_at_once_and_remembered(program: Program, qtbot: QtBot) -> None:
    program.window.show_page(program.window.settings_page)
    for mode in (ThemeMode.DARK, ThemeMode.LIGHT):
        program.theme.set_mode(mode)
        for accent in (Accent.ORANGE, Accent.INDIGO):
            swatch = program.window.settings_page.rows["accent"].control.swatches[accent]
            qtbot.mouseClick(swatch, Qt.MouseButton.LeftButton)
            expected = tokens_of(is_dark=mode is ThemeMode.DARK, accent=accent)
            assert current_tokens() is expected
            assert expected.accent in QApplication.instance().styleSheet()
            assert SettingsStore(settings_path()).values.accent == accent.value


def test_every_accent_can_be_chosen() -> None:
    assert list(SETTING_FIELDS["accent"].metadata["choices"]) == [accent.value for accent in Accent]


def contrast_ratio(first: str, second: str) -> float:
    """WCAG 2.2's contrast ratio of two `#rrggbb` colours, 1 to 21."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_what_stands_in_one_row_is_equally_high(qtbot: QtBot) -> None:
    card = Card()
    qtbot.addWidget(card)
    row = [QPushButton("Find"), QLineEdit(), CalmSpinBox(), ChoiceButton("Bits", {"4": "four"})]
    for widget in row:
        card.rows.addWidget(widget)
    card.show()
    assert len({widget.sizeHint().height() for widget in row}) == 1
