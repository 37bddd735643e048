"""The list of keys: complete, in the window's language, and at hand."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from app.gui import Program
from app.ui.dialogs.shortcuts_dialog import ShortcutsDialog, name_keys
from app.ui.shortcuts import list_shortcuts
from tests.ui.window_support import texts


def opened(program: Program) -> ShortcutsDialog | None:
    dialogs = program.window.findChildren(ShortcutsDialog)
    return next((dialog for dialog in dialogs if dialog.isVisible()), None)


def press(program: Program, keys: str) -> None:
    shortcuts = program.window.findChildren(QShortcut)
    (found,) = (shortcut for shortcut in shortcuts if shortcut.key() == QKeySequence(keys))
    found.activated.emit()


def test_every_key_of_the_window_is_listed_with_what_it_does(
    qtbot: QtBot, program: Program
) -> None:
    press(program, "F1")
    dialog = opened(program)
    assert dialog is not None
    shown = texts(dialog)
    groups = list_shortcuts(program.window)
    listed = [shortcut for shortcuts in groups.values() for shortcut in shortcuts]
    for title in groups:
        assert title in shown
    for shortcut in listed:
        assert shortcut.text in shown
        assert name_keys(shortcut.keys[0]) in shown
    used = {keys for shortcut in listed for keys in shortcut.keys} - {"Enter", "Shift+Enter"}
    there = program.window.findChildren(QShortcut)
    assert {QKeySequence(keys) for keys in used} == {shortcut.key() for shortcut in there}
    assert len(used) == len(there) > 20
    (close,) = dialog.findChildren(QPushButton)
    qtbot.keyClick(close, Qt.Key.Key_Return)
    assert opened(program) is None


def test_a_menu_leads_to_it(program: Program) -> None:
    menu = program.window.chat_page.conversations.more_button.menu()
    (action,) = [action for action in menu.actions() if "F1" in action.text()]
    action.trigger()
    assert opened(program) is not None


def test_it_speaks_the_language_of_the_window(program: Program) -> None:
    program.language.choose("zh_CN")
    program.window.renew_desk()
    program.window.show_shortcuts()
    dialog = opened(program)
    assert dialog is not None
    assert dialog.windowTitle() == "键盘快捷键"
    labels = [label.text() for label in dialog.findChildren(QLabel)]
    assert "停止回复" in labels
    assert "Ctrl+N" in labels


@pytest.mark.parametrize("keys", ["Alt+Return", "Esc", "Ctrl++", "Ctrl+,"])
def test_keys_are_called_as_on_the_keyboard(keys: str) -> None:
    assert name_keys(keys) == keys.replace("Return", "Enter")
