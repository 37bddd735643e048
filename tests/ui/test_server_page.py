"""The Server page and the switch below the pages' buttons, with a fake engine process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QCheckBox, QLineEdit
from pytestqt.qtbot import QtBot

from app.controllers.chat_engine import ChatEngine
from app.controllers.server import ServerController, ServerState
from app.core.keychain import Keychain, KeyPlace
from app.core.paths import keys_dir, settings_path
from app.core.server_events import (
    ServerRequestEvent,
    ServerRequestProgressed,
    ServerRequestState,
)
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.pages.server_page import ServerPage
from app.ui.widgets.request_row import RequestRow
from app.ui.widgets.server_toggle import ServerToggle
from tests.memory_keyring import memory_keyring
from tests.ui.window_support import cells, texts

sys.path.insert(0, str(Path(__file__).parents[1] / "controllers"))

from fake_engine import BUSY_PORT, server_request

TIMEOUT_MS = 60_000
MODEL = "SmolLM2-135M-Instruct"


@pytest.fixture
def engine(qtbot: QtBot) -> Iterator[ChatEngine]:
    made = ChatEngine("fake_engine:create_service")
    yield made
    made.shutdown()


@pytest.fixture
def controller(qtbot: QtBot, engine: ChatEngine) -> Iterator[ServerController]:
    made = ServerController(engine, SettingsStore(settings_path()), Keychain(keys_dir()))
    with qtbot.waitSignal(made.options_changed, timeout=TIMEOUT_MS):
        made.prepare()
    yield made
    made.shutdown()


@pytest.fixture
def page(qtbot: QtBot, controller: ServerController) -> ServerPage:
    widget = ServerPage(controller)
    qtbot.addWidget(widget)
    widget.resize(1000, 1400)
    widget.show()
    return widget


@pytest.fixture
def toggle(qtbot: QtBot, controller: ServerController) -> ServerToggle:
    widget = ServerToggle(controller)
    qtbot.addWidget(widget)
    widget.show()
    return widget


def wait_for(qtbot: QtBot, controller: ServerController, state: ServerState) -> None:
    qtbot.waitUntil(lambda: controller.state is state, timeout=TIMEOUT_MS)


def tell(engine: ChatEngine, request_id: str, kind: ServerRequestState, **changes: object) -> None:
    event = replace(server_request(request_id, kind), **changes)  # type: ignore[arg-type]
    assert isinstance(event, ServerRequestEvent)
    engine.local.event_received.emit(event)


def test_one_switch_is_seen_in_both_places(
    qtbot: QtBot, page: ServerPage, toggle: ServerToggle, controller: ServerController
) -> None:
    assert toggle.label.text() == "Server off"
    assert "The server is off" in texts(page)
    qtbot.mouseClick(toggle.switch, Qt.MouseButton.LeftButton)
    wait_for(qtbot, controller, ServerState.ON)
    assert toggle.label.text() == ":8231"
    assert page.card.switch.isChecked()
    assert page.card.url.address.text() == "http://127.0.0.1:8231/v1"
    page.card.url.copy_button.click()
    assert QGuiApplication.clipboard().text() == "http://127.0.0.1:8231/v1"
    page.card.switch.setFocus()
    qtbot.keyClick(page.card.switch, Qt.Key.Key_Space)
    wait_for(qtbot, controller, ServerState.OFF)
    assert not toggle.switch.isChecked()
    assert not page.card.url.isVisible()


def test_a_port_that_is_taken_is_said_and_the_free_one_taken(
    qtbot: QtBot, page: ServerPage, toggle: ServerToggle, controller: ServerController
) -> None:
    page.options.port.setValue(BUSY_PORT)
    page.card.switch.click()
    wait_for(qtbot, controller, ServerState.FAILED)
    assert toggle.label.text() == "Server failed"
    assert toggle.label.toolTip().startswith("Port 81 is in use")
    assert "Port 81 is in use. Port 8300 is free." in texts(page)
    assert not page.card.switch.isChecked()
    assert page.card.free_port_button.text() == "Use port 8300"
    page.card.free_port_button.click()
    wait_for(qtbot, controller, ServerState.ON)
    assert toggle.label.text() == ":8300"
    assert not page.card.free_port_button.isVisible()


def test_another_port_makes_the_failure_void(
    qtbot: QtBot, page: ServerPage, controller: ServerController
) -> None:
    controller.set_port(BUSY_PORT)
    controller.start()
    wait_for(qtbot, controller, ServerState.FAILED)
    page.options.port.setValue(8400)
    assert controller.state is ServerState.OFF
    assert "in use" not in texts(page)


def test_without_a_model_it_says_so(
    qtbot: QtBot, page: ServerPage, controller: ServerController
) -> None:
    controller.start()
    wait_for(qtbot, controller, ServerState.ON)
    assert "503" in page.card.note.text()
    with qtbot.waitSignal(page.model_requested):
        page.card.model_button.click()
    page.show_model(MODEL)
    assert page.card.note.text().startswith(f"{MODEL} answers.")
    assert not page.card.model_button.isVisible()
    assert f'model="{MODEL}"' in page.example.code.code


def test_requests_come_go_and_are_cancelled(
    qtbot: QtBot, page: ServerPage, controller: ServerController, engine: ChatEngine
) -> None:
    controller.start()
    qtbot.waitUntil(lambda: len(page.requests.running_rows) == 1, timeout=TIMEOUT_MS)
    tell(engine, "r2", ServerRequestState.WAITING, client="<b>aider</b>")
    qtbot.waitUntil(lambda: len(page.requests.running_rows) == 2, timeout=TIMEOUT_MS)
    first, second = page.requests.running_rows
    assert first.counts.text() == "prompt 12  ·  34 tokens  ·  56.0 tok/s"
    assert (second.client.text(), second.state.text()) == ("<b>aider</b>", "waiting")
    assert second.client.textFormat() is Qt.TextFormat.PlainText
    assert "2 running" in page.card.rate.text()
    first.cancel_button.setFocus()
    tell(engine, "r1", ServerRequestState.DECODING, completion_tokens=1_234)
    qtbot.waitUntil(lambda: "1,234 tokens" in first.counts.text(), timeout=TIMEOUT_MS)
    assert page.requests.running_rows[0] is first, "the focus would jump"
    first.cancel_button.click()
    qtbot.waitUntil(lambda: page.requests.running_rows == (second,), timeout=TIMEOUT_MS)
    (row,) = cells(page.requests.table)
    assert row[-1] == "cancelled"


def test_a_narrow_row_still_names_the_model(qtbot: QtBot) -> None:
    row = RequestRow("1")
    qtbot.addWidget(row)
    state = ServerRequestState.DECODING
    common = ("Continue", "Qwen3-4B", "/v1/chat/completions", state)
    row.show_request(ServerRequestProgressed("1", *common, 200, 812, 96, 31.0))
    row.resize(440, row.sizeHint().height())
    row.show()
    assert row.facts.text().startswith("Qwen3-4B")
    assert row.counts.text() == "prompt 812  ·  96 tokens  ·  31.0 tok/s"


def test_the_log_shows_the_latest_first_and_can_be_cleared(
    qtbot: QtBot, page: ServerPage, engine: ChatEngine
) -> None:
    assert page.requests.empty.isVisible()
    assert not page.requests.log.isVisible()
    for number in range(3):
        tell(engine, str(number), ServerRequestState.FINISHED, client=f"client {number}")
    failed = {"state": ServerRequestState.FAILED, "status": 400, "error": "Too long."}
    tell(engine, "3", ServerRequestState.FINISHED, client="client 3", **failed)
    qtbot.waitUntil(lambda: len(cells(page.requests.table)) == 4, timeout=TIMEOUT_MS)
    rows = cells(page.requests.table)
    assert [row[0] for row in rows] == ["client 3", "client 2", "client 1", "client 0"]
    assert rows[0][-1] == "failed (400)"
    index = page.requests.table.model().index(0, 7)
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "Too long."
    page.requests.clear_button.click()
    qtbot.waitUntil(lambda: not page.requests.log.isVisible(), timeout=TIMEOUT_MS)


def test_many_requests_do_not_flood_the_page(
    qtbot: QtBot, page: ServerPage, engine: ChatEngine
) -> None:
    for number in range(200):
        tell(engine, str(number), ServerRequestState.WAITING)
    qtbot.waitUntil(lambda: len(page.requests.running_rows) == 24, timeout=TIMEOUT_MS)
    assert page.requests.more.text() == "… and 176 more"


def test_the_network_demands_a_key(
    qtbot: QtBot, page: ServerPage, controller: ServerController
) -> None:
    assert page.options.key.key == ""
    page.options.lan.click()
    assert controller.allows_lan
    assert page.options.key.key == controller.api_key != ""
    assert page.options.key.edit.echoMode() is QLineEdit.EchoMode.Password
    page.options.key.show_button.click()
    assert page.options.key.edit.echoMode() is QLineEdit.EchoMode.Normal
    # The key itself is in no example: that would be pasted somewhere.
    assert controller.api_key not in page.example.code.code
    assert 'os.environ["DEEPINFER_KEY"]' in page.example.code.code
    page.options.key.edit.selectAll()
    qtbot.keyClick(page.options.key.edit, Qt.Key.Key_Delete)
    qtbot.keyClick(page.options.key.edit, Qt.Key.Key_Return)
    assert not page.options.lan.isChecked()
    assert "nothing outside" in page.options.port_note.text()
    assert 'api_key="none"' in page.example.code.code


def test_a_key_that_a_locked_keyring_keeps_is_told(
    qtbot: QtBot, page: ServerPage, controller: ServerController
) -> None:
    with memory_keyring() as system:
        controller.generate_key()
        qtbot.waitUntil(lambda: "Kept in the system's keyring" in page.options.key_note.text())
        system.is_locked = True
        controller.set_api_key("")
        qtbot.waitUntil(lambda: "comes back with the next start" in page.options.key_note.text())
        system.is_locked = False
        controller.generate_key()
        controller.set_api_key("")
        qtbot.waitUntil(lambda: controller.key_place is KeyPlace.NOWHERE)
        assert page.options.key_note.text() == "Clients that insist on a key may send any."


def test_options_are_locked_while_the_port_is_open(
    qtbot: QtBot, page: ServerPage, controller: ServerController
) -> None:
    locked = (page.options.port, page.options.lan, page.options.generate_button)
    assert all(widget.isEnabled() for widget in locked)
    controller.start()
    wait_for(qtbot, controller, ServerState.ON)
    assert not any(widget.isEnabled() for widget in locked)
    assert page.options.locked.isVisible()
    assert page.options.key.edit.isReadOnly()
    assert isinstance(page.options.autostart, QCheckBox)
    page.options.autostart.click()
    assert controller.starts_with_program


def test_the_window_shows_the_switch_on_every_page(qtbot: QtBot, program: Program) -> None:
    window = program.window
    for page in (window.chat_page, window.convert_page, window.server_page):
        window.show_page(page)
        assert window.desk.server_toggle.isVisible()
    window.resize(720, 560)
    rail = window.navigation
    for widget in (window.desk.server_toggle.label, rail.theme_button):
        bottom = widget.mapTo(window, widget.rect().bottomLeft()).y()
        assert bottom <= window.height()
