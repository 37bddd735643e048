"""The Settings page: what the schema declares is what is shown, saved and applied."""

from __future__ import annotations

from dataclasses import fields

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QLineEdit, QPlainTextEdit
from pytestqt.qtbot import QtBot

from app.core.settings import SETTING_FIELDS, Settings, Topic
from app.gui import Program
from app.ui.dialogs.move_library_dialog import MoveLibraryDialog
from app.ui.pages.settings_page import SettingsPage
from app.ui.widgets.accent_choice import AccentChoice
from app.ui.widgets.calm_spin_box import CalmSpinBox
from app.ui.widgets.choice_button import ChoiceButton

_SHOWN = [declared.name for declared in fields(Settings) if declared.metadata["topic"]]


def _other_value(name: str) -> object:
    """A valid value that is not the default."""
    declared = SETTING_FIELDS[name]
    if declared.metadata["choices"]:
        return next(value for value in declared.metadata["choices"] if value != declared.default)
    match declared.default:
        case bool():
            return not declared.default
        case int() | float():
            return type(declared.default)((declared.metadata["least"] + declared.default + 1) // 1)
    return "https://hub.example"


def _give(page: SettingsPage, name: str, value: object) -> None:
    """As a user does it."""
    control = page.rows[name].control
    match control:
        case ChoiceButton():
            actions = control.menu().actions()
            next(action for action in actions if action.data() == value).trigger()
        case AccentChoice():
            control.swatches[value].click()
        case QCheckBox():
            control.setChecked(bool(value))
        case CalmSpinBox():
            control.lineEdit().selectAll()
            QTest.keyClicks(control, str(value))
            QTest.keyClick(control, Qt.Key.Key_Return)
        case QPlainTextEdit() | QLineEdit():
            QTest.keyClicks(control, str(value))
            page.flush()


@pytest.mark.parametrize("name", _SHOWN)
def test_a_control_saves_and_shows_its_setting(program: Program, name: str) -> None:
    page, value = program.window.settings_page, _other_value(name)
    page.show_topic(SETTING_FIELDS[name].metadata["topic"])
    _give(page, name, value)
    assert getattr(program.settings.values, name) == value

    program.settings.update(**{name: SETTING_FIELDS[name].default})
    page.refresh()
    _give(page, name, value)
    assert getattr(program.settings.values, name) == value


def test_every_control_has_a_name_and_tells_what_it_does(program: Program) -> None:
    for row in program.window.settings_page.rows.values():
        assert row.label.text() in row.control.accessibleName(), row.name
        assert row.control.accessibleDescription() == row.help.text() != "", row.name


def test_reset_takes_back_one_topic_alone(program: Program, qtbot: QtBot) -> None:
    page = program.window.settings_page
    program.settings.update(temperature=0.1, kv_dtype="int8")
    page.show_topic(Topic.REPLIES)
    card = page.cards[Topic.REPLIES]
    reset = card.rows.itemAt(card.rows.count() - 1).widget()
    assert reset is not None
    qtbot.mouseClick(reset, Qt.MouseButton.LeftButton)
    values = program.settings.values
    assert (values.temperature, values.kv_dtype) == (Settings().temperature, "int8")
    assert page.rows["temperature"].control.value() == pytest.approx(values.temperature)


def test_the_theme_is_applied_at_once_and_the_rail_agrees(program: Program) -> None:
    page = program.window.settings_page
    _give(page, "theme", "dark")
    assert program.theme.mode == "dark"
    rail = program.window.navigation
    assert [action.isChecked() for action in rail.theme_button.menu().actions()] == [
        False,
        False,
        True,
    ]


def test_text_grows_everywhere_and_comes_back(program: Program, qtbot: QtBot) -> None:
    window = program.window
    title = window.settings_page.findChildren(type(window.settings_page.problem))[0]
    labels = [title, window.settings_page.rows["theme"].label, window.chat_page.top_bar.picker]
    before = [label.font().pointSizeF() for label in labels]
    for _ in range(3):
        qtbot.keyClick(window, Qt.Key.Key_Equal, Qt.KeyboardModifier.ControlModifier)
    grown = [label.font().pointSizeF() for label in labels]
    assert grown == pytest.approx([size * 1.3 for size in before])
    assert program.settings.values.font_percent == 130
    qtbot.keyClick(window, Qt.Key.Key_0, Qt.KeyboardModifier.ControlModifier)
    assert [label.font().pointSizeF() for label in labels] == pytest.approx(before)


def test_zoom_stops_at_its_ends(program: Program, qtbot: QtBot) -> None:
    for key, end in ((Qt.Key.Key_Equal, "most"), (Qt.Key.Key_Minus, "least")):
        for _ in range(20):
            qtbot.keyClick(program.window, key, Qt.KeyboardModifier.ControlModifier)
        expected = SETTING_FIELDS["font_percent"].metadata[end]
        assert program.settings.values.font_percent == expected


def test_the_folder_of_the_models_is_shown_and_can_be_moved(qtbot: QtBot, program: Program) -> None:
    window = program.window
    row = window.library_shell.folder_row
    assert row.folder.text() == str(program.controllers.disk.library_dir)
    assert row.isVisibleTo(window.settings_page.cards[Topic.MODELS])
    qtbot.mouseClick(row.move_button, Qt.MouseButton.LeftButton)
    dialog = window.findChild(MoveLibraryDialog)
    assert dialog is not None
    dialog.reject()


def test_the_topics_stand_in_one_line_on_the_smallest_screen(program: Program) -> None:
    window = program.window
    window.resize(683, 384)
    window.show_page(window.settings_page)
    QApplication.processEvents()
    buttons = window.settings_page.topics.buttons
    assert len({button.y() for button in buttons}) == 1
    for button in buttons:  # what has the focus stays as large as it was
        before = button.sizeHint()
        button.setFocus()
        assert button.sizeHint() == before


def test_the_panel_of_the_chat_grows_with_the_text(program: Program) -> None:
    window = program.window
    window.resize(1920, 1080)
    panel = window.chat_page.panel
    assert panel.width() == 312
    for _ in range(3):
        window.appearance.zoom(1)
    QApplication.processEvents()
    assert program.settings.values.font_percent == 130
    assert panel.live.width() >= panel.live.minimumSizeHint().width()
    assert panel.sampling.width() >= panel.sampling.minimumSizeHint().width()
    window.appearance.zoom(0)
    QApplication.processEvents()
    assert panel.width() == 312
