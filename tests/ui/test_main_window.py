"""The shell: drops anywhere, keys, accessible names, geometry, messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QButtonGroup,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QScrollBar,
    QTableView,
    QTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.core.events import ErrorInfo
from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.widgets.banner import BannerTone
from tests.ui.window_support import drag_over, drop_on, running_program

CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QTextEdit,
)


@pytest.fixture
def enqueued(program: Program, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What the window asked to plan or convert; nothing is."""
    sources: list[Path] = []

    def enqueue(paths: list[Path], *, start: bool = True) -> None:
        sources.extend(paths)

    monkeypatch.setattr(program.controllers.conversion, "enqueue", enqueue)
    return sources


def controls(window: QWidget) -> list[QWidget]:
    inner = (QScrollBar,)
    found = [w for w in window.findChildren(QWidget) if isinstance(w, CONTROLS)]
    return [w for w in found if not isinstance(w, inner) and not w.objectName().startswith("qt_")]


def test_every_control_has_an_accessible_name(program: Program) -> None:
    nameless = [
        f"{type(control).__name__} in {type(control.parentWidget()).__name__}"
        for control in controls(program.window)
        if not QAccessible.queryAccessibleInterface(control).text(QAccessible.Text.Name)
    ]
    assert len(controls(program.window)) > 40
    assert nameless == []


def _with_group(button: QAbstractButton) -> list[QAbstractButton]:
    """Arrow keys go from one of a group to the others."""
    group: QButtonGroup | None = button.group()
    return group.buttons() if group is not None else [button]


def test_every_button_can_be_reached_by_keyboard(program: Program) -> None:
    unreachable = [
        button.accessibleName() or button.text()
        for button in program.window.findChildren(QAbstractButton)
        if not isinstance(button.parentWidget(), QLineEdit | QTableView)  # Qt's own helpers
        and not any(one.focusPolicy() & Qt.FocusPolicy.TabFocus for one in _with_group(button))
    ]
    assert unreachable == []


def test_no_child_takes_drops_away_from_the_window(program: Program) -> None:
    thieves = [w for w in program.window.findChildren(QWidget) if w.acceptDrops()]
    assert program.window.acceptDrops()
    assert thieves == []


def test_dragging_covers_the_window_and_dropping_offers_to_convert(
    program: Program, enqueued: list[Path], tmp_path: Path
) -> None:
    file, folder = tmp_path / "模型 one.gguf", tmp_path / "two"
    event = drag_over(program.window, [file])
    assert event.isAccepted()
    assert program.window.overlay.isVisible()
    assert program.window.overlay.size() == program.window.size()
    drop_on(program.window, [file, folder])
    assert not program.window.overlay.isVisible()
    assert enqueued == [file, folder]
    assert program.window.convert_page.isVisible()


def test_a_file_of_a_model_stands_for_its_folder(
    program: Program, enqueued: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "模型"
    folder.mkdir()
    files = [folder / "config.json", folder / "model-00001-of-00002.safetensors"]
    for file in files:
        file.write_bytes(b"{}")
    program.window.show_page(program.window.convert_page)
    drop_on(program.window, [*files, tmp_path / "adapter.safetensors"])
    assert enqueued == [folder, tmp_path / "adapter.safetensors"]


def test_dragged_text_is_not_taken(program: Program, enqueued: list[Path]) -> None:
    event = drag_over(program.window, [])
    assert not event.isAccepted()
    assert not program.window.overlay.isVisible()


def test_starter_is_offered_and_converted(
    program: Program, enqueued: list[Path], starter_gguf: Path
) -> None:
    program.window.chat_page.empty.starter_requested.emit()
    assert enqueued == [starter_gguf]


@pytest.mark.parametrize(
    ("key", "page"), [(Qt.Key.Key_2, "convert_page"), (Qt.Key.Key_1, "chat_page")]
)
def test_pages_have_shortcuts(qtbot: QtBot, program: Program, key: Qt.Key, page: str) -> None:
    activate(qtbot, program)
    qtbot.keyClick(program.window, key, Qt.KeyboardModifier.ControlModifier)
    assert getattr(program.window, page).isVisible()


def test_new_chat_shortcut_leads_to_the_composer(qtbot: QtBot, program: Program) -> None:
    activate(qtbot, program)
    program.window.show_page(program.window.convert_page)
    qtbot.keyClick(program.window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    assert program.window.chat_page.isVisible()
    assert QApplication.focusWidget() is program.window.chat_page.composer.edit


def test_search_shortcut(qtbot: QtBot, program: Program) -> None:
    activate(qtbot, program)
    qtbot.keyClick(program.window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.focusWidget() is program.window.chat_page.conversations.search_field


def test_side_columns_fold_in_a_narrow_window_and_come_back(qtbot: QtBot, program: Program) -> None:
    page = program.window.chat_page
    program.window.resize(1320, 800)
    assert page.panel.isVisible()
    program.window.resize(800, 600)
    assert not page.panel.isVisible()
    page.toggle_panel()
    assert page.panel.isVisible(), "the user may still have it"
    program.window.resize(1320, 800)
    assert page.panel.isVisible()


def test_geometry_is_remembered(qtbot: QtBot) -> None:
    with running_program() as first:
        first.window.resize(781, 607)
    with running_program() as second:
        assert second.window.size() == QSize(781, 607)


def test_damaged_geometry_is_ignored(qtbot: QtBot) -> None:
    SettingsStore(settings_path()).update(window_geometry="no base64 äöü")
    with running_program() as program:
        assert program.window.isVisible()


@pytest.mark.parametrize(
    ("screen", "expected"),
    [
        (QRect(0, 0, 1366, 728), QSize(1320, 688)),  # the commonest laptop, above its task bar
        (QRect(60, 0, 1220, 1024), QSize(1220, 860)),
        (QRect(0, 0, 1920, 1040), QSize(1320, 860)),
    ],
)
def test_the_first_window_lies_within_the_screen(
    program: Program, screen: QRect, expected: QSize
) -> None:
    program.window.resize(1320, 860)
    program.window.fit_into(screen)
    assert program.window.size() == expected


def test_error_is_shown_once_with_details(program: Program) -> None:
    error = ErrorInfo("InternalError", "It broke.", "traceback")
    program.window.show_error(error)
    program.window.show_error(error)
    banners = program.window.banners.banners
    assert [banner.text for banner in banners] == ["It broke."]
    banners[0].closed.emit()
    assert program.window.banners.banners == ()


def test_messages_of_different_kinds_stand_together(program: Program) -> None:
    program.window.show_message("a", "One.", BannerTone.INFO)
    program.window.show_message("b", "Two.", BannerTone.WARNING)
    assert [banner.text for banner in program.window.banners.banners] == ["One.", "Two."]


def activate(qtbot: QtBot, program: Program) -> None:
    with qtbot.waitActive(program.window, timeout=20_000):
        program.window.activateWindow()


def test_side_columns_leave_room_for_larger_text(program: Program) -> None:
    page, appearance = program.window.chat_page, program.window.appearance
    program.window.resize(1280, 800)
    assert page.panel.isVisible()
    assert page.conversations.isVisible()
    for _ in range(3):
        appearance.zoom(1)
    assert program.settings.values.font_percent == 130
    assert not page.panel.isVisible()
    assert page.conversations.isVisible()
    page.toggle_panel()
    appearance.zoom(1)
    assert page.panel.isVisible(), "the user may still have it"
    appearance.zoom(0)
    assert page.panel.isVisible()


def test_the_icons_of_the_rail_stand_one_below_the_other(program: Program) -> None:
    rail = program.window.navigation
    button = rail.theme_button
    button.clearFocus()
    picture, place = rail.grab().toImage(), button.geometry()
    rows = range(place.top() + 4, place.bottom() - 3)
    ground = picture.pixelColor(place.left() + 3, place.top() + 3)
    columns = range(place.left() + 3, place.right() - 2)
    drawn = [x for x in columns if any(picture.pixelColor(x, y) != ground for y in rows)]
    middle = rail.pages.x() + rail.pages.width() / 2
    assert abs((drawn[0] + drawn[-1] + 1) / 2 - middle) <= 0.5  # of a pixel: the rail's may be odd
