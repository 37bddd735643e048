"""The tray's menu does what the window does; closing leaves an open port there when asked to."""

from __future__ import annotations

import socket

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QSystemTrayIcon
from pytestqt.qtbot import QtBot

from app.controllers.conversion_job import ConversionState
from app.controllers.server import ServerState
from app.gui import Program
from app.ui.dialogs.close_dialog import CloseDialog
from app.ui.tray import Tray, create_tray_icon
from tests.ui.conversion_samples import JOB
from tests.ui.window_support import TIMEOUT_MS


@pytest.fixture
def tray(program: Program, monkeypatch: pytest.MonkeyPatch) -> Tray:
    """Of a desktop that has one: the offscreen platform does not."""
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    monkeypatch.setattr(QSystemTrayIcon, "isVisible", lambda self: True)
    return program.window.tray


@pytest.fixture
def serving(qtbot: QtBot, program: Program) -> Program:
    program.settings.update(server_port=free_port())
    program.controllers.server.start()
    wait_for(qtbot, program, ServerState.ON)
    return program


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_for(qtbot: QtBot, program: Program, state: ServerState) -> None:
    qtbot.waitUntil(lambda: program.controllers.server.state is state, timeout=TIMEOUT_MS)


def test_the_menu_flips_the_port(qtbot: QtBot, serving: Program, tray: Tray) -> None:
    server = serving.controllers.server
    assert tray.switch_action.isChecked()
    assert f":{server.port}" in tray.icon.toolTip()
    tray.copy_action.trigger()
    assert QGuiApplication.clipboard().text() == server.base_url
    tray.switch_action.trigger()
    wait_for(qtbot, serving, ServerState.OFF)
    assert not tray.copy_action.isEnabled()
    assert tray.icon.toolTip().endswith("off")


def test_closing_leaves_an_open_port_in_the_tray_when_asked_to(
    serving: Program, tray: Tray
) -> None:
    window = serving.window
    serving.controllers.server.set_keeps_running(True)
    window.close()
    assert not window.isVisible()
    assert serving.controllers.server.state is ServerState.ON
    tray.show_action.trigger()
    assert window.isVisible()


def test_quit_is_quit(serving: Program, tray: Tray, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[bool] = []
    monkeypatch.setattr(QApplication, "quit", lambda: ended.append(serving.window.close()))
    serving.controllers.server.set_keeps_running(True)
    tray.quit_action.trigger()
    assert ended == [True]


def test_quit_is_quit_behind_a_question(
    serving: Program, tray: Tray, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, conversion = serving.window, serving.controllers.conversion
    hidden: list[Tray] = []
    monkeypatch.setattr(Tray, "tell_hidden", lambda tray: hidden.append(tray))
    monkeypatch.setattr(QApplication, "quit", window.close)
    serving.controllers.server.set_keeps_running(True)
    conversion._current = JOB
    conversion._set_state(ConversionState.CONVERTING)
    tray.quit_action.trigger()
    ask(serving).keep_button.click()
    assert window.isVisible()
    window.close()
    assert hidden == [tray], "who does not quit any more leaves it in the tray"
    tray.quit_action.trigger()
    ask(serving).stop_button.click()
    assert not window.isVisible()
    assert hidden == [tray], "the window is closed, not hidden once more"
    conversion._current = None
    conversion._set_state(ConversionState.IDLE)


def ask(program: Program) -> CloseDialog:
    """The question that is open."""
    dialogs = program.window.findChildren(CloseDialog)
    return next(dialog for dialog in dialogs if dialog.isVisible())


def test_without_a_tray_closing_is_closing(serving: Program) -> None:
    serving.controllers.server.set_keeps_running(True)
    assert serving.window.close()


def test_the_dot_tells_the_state(program: Program) -> None:
    pictures = {
        state: create_tray_icon(state).pixmap(64, 64).toImage()
        for state in (ServerState.OFF, ServerState.ON, ServerState.FAILED)
    }
    corner = {state: image.pixelColor(51, 51).name() for state, image in pictures.items()}
    assert len(set(corner.values())) == 3
