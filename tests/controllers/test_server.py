"""The port's switch with a fake engine process: on, off, taken, dead, and who may come in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from fake_engine import BUSY_PORT, DEADLY_PORT, server_request
from pytestqt.qtbot import QtBot

from app.chat.store import ChatStore
from app.controllers.chat import ChatController
from app.controllers.chat_state import ChatState
from app.controllers.remote_link import ConnectRemote
from app.controllers.request_log import MAX_FINISHED, RequestLog
from app.controllers.server import KEY_NAME, ServerController, ServerState
from app.core.errors import EngineError
from app.core.events import ErrorInfo
from app.core.keychain import Keychain, KeyPlace
from app.core.paths import chats_path, keys_dir, settings_path
from app.core.server_events import ServerFailed, ServerRequestState
from app.core.settings_store import SettingsStore
from app.remote.endpoint import RemoteEndpoint
from app.workers.commands import LoadModel

TIMEOUT_MS = 60_000


@pytest.fixture
def chat(qtbot: QtBot) -> Iterator[ChatController]:
    controller = ChatController(ChatStore.open(chats_path()), service="fake_engine:create_service")
    yield controller
    controller.shutdown()


@pytest.fixture
def server(qtbot: QtBot, chat: ChatController) -> Iterator[ServerController]:
    controller = create(chat)
    with qtbot.waitSignal(controller.options_changed, timeout=TIMEOUT_MS):
        controller.prepare()
    yield controller
    controller.shutdown()


def create(chat: ChatController) -> ServerController:
    return ServerController(chat.engine, SettingsStore(settings_path()), Keychain(keys_dir()))


def wait_for(qtbot: QtBot, server: ServerController, state: ServerState) -> None:
    qtbot.waitUntil(lambda: server.state is state, timeout=TIMEOUT_MS)


def wait_for_no_process(qtbot: QtBot, chat: ChatController) -> None:
    qtbot.waitUntil(lambda: not chat.engine.local.is_running, timeout=TIMEOUT_MS)


def start(qtbot: QtBot, server: ServerController) -> None:
    server.start()
    wait_for(qtbot, server, ServerState.ON)


def test_on_and_off_without_a_model(
    qtbot: QtBot, server: ServerController, chat: ChatController
) -> None:
    states: list[ServerState] = []
    server.state_changed.connect(states.append)
    start(qtbot, server)
    assert server.base_url == "http://127.0.0.1:8231/v1"
    server.stop()
    wait_for(qtbot, server, ServerState.OFF)
    assert states == [
        ServerState.STARTING,
        ServerState.ON,
        ServerState.STOPPING,
        ServerState.OFF,
    ]
    assert server.base_url == ""
    wait_for_no_process(qtbot, chat)  # nobody needs it


def test_a_port_that_is_closed_while_it_opens_is_never_on(
    qtbot: QtBot, server: ServerController
) -> None:
    states: list[ServerState] = []
    server.state_changed.connect(states.append)
    server.start()
    server.stop()
    wait_for(qtbot, server, ServerState.OFF)
    assert states == [ServerState.STARTING, ServerState.STOPPING, ServerState.OFF]


def test_a_port_that_ends_by_itself_turns_the_switch_off(
    qtbot: QtBot, server: ServerController, chat: ChatController
) -> None:
    start(qtbot, server)
    qtbot.waitUntil(lambda: len(server.log.running) == 1, timeout=TIMEOUT_MS)
    ended = ErrorInfo.from_exception(EngineError("The server ended by itself."))
    chat.engine.local.event_received.emit(ServerFailed(ended))
    assert server.state is ServerState.FAILED
    assert not server.is_wanted
    assert (server.error, server.base_url, server.log.running) == (ended, "", ())
    (request,) = server.log.finished
    assert request.error == ended.message


def test_models_come_and_go_while_it_is_on(
    qtbot: QtBot, server: ServerController, chat: ChatController, tmp_path: Path
) -> None:
    start(qtbot, server)
    pid = chat.worker_pid
    for name in ("one", "two"):
        with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
            chat.load(LoadModel(tmp_path / name))
    chat.unload_model()
    qtbot.waitUntil(lambda: chat.state is ChatState.UNLOADED, timeout=TIMEOUT_MS)
    assert server.state is ServerState.ON
    assert chat.worker_pid == pid


def test_the_model_stays_when_the_port_closes(
    qtbot: QtBot, server: ServerController, chat: ChatController, tmp_path: Path
) -> None:
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.load(LoadModel(tmp_path))
    start(qtbot, server)
    server.stop()
    wait_for(qtbot, server, ServerState.OFF)
    assert chat.state is ChatState.READY
    assert chat.engine.local.is_running


def test_a_port_that_is_taken_offers_another(
    qtbot: QtBot, server: ServerController, chat: ChatController
) -> None:
    server.set_port(BUSY_PORT)
    server.start()
    wait_for(qtbot, server, ServerState.FAILED)
    assert server.error
    assert server.error.message.startswith("Port 81 is in use.")
    assert server.free_port == 8300
    server.take_free_port()
    wait_for(qtbot, server, ServerState.ON)
    assert (server.port, server.error) == (8300, None)
    assert SettingsStore(settings_path()).values.server_port == 8300


def test_a_load_that_needs_a_fresh_process_takes_the_port_along(
    qtbot: QtBot, server: ServerController, chat: ChatController, tmp_path: Path
) -> None:
    start(qtbot, server)
    with qtbot.waitSignal(chat.failed, timeout=TIMEOUT_MS):
        chat.load(LoadModel(tmp_path / "missing"))
    pid = chat.worker_pid
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.load(LoadModel(tmp_path / "one"))
    assert chat.worker_pid != pid
    wait_for(qtbot, server, ServerState.ON)


def test_a_dead_process_is_replaced_and_its_requests_are_told(
    qtbot: QtBot, server: ServerController, chat: ChatController
) -> None:
    start(qtbot, server)
    qtbot.waitUntil(lambda: len(server.log.running) == 1, timeout=TIMEOUT_MS)
    with qtbot.waitSignal(server.engine_lost, timeout=TIMEOUT_MS):
        psutil.Process(chat.worker_pid).kill()
    assert server.state is ServerState.STARTING
    (request,) = server.log.finished
    assert request.event.state is ServerRequestState.FAILED
    assert "process has ended" in request.error
    wait_for(qtbot, server, ServerState.ON)
    with qtbot.waitSignal(server.state_changed, timeout=TIMEOUT_MS):
        psutil.Process(chat.worker_pid).kill()
    assert server.state is ServerState.FAILED
    assert server.error
    assert "twice" in server.error.message


def test_a_dead_process_gets_its_model_back_while_the_chat_has_another_server(
    qtbot: QtBot, server: ServerController, chat: ChatController, tmp_path: Path
) -> None:
    names: list[str] = []
    server.model_changed.connect(names.append)
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.load(LoadModel(tmp_path / "one"))
    start(qtbot, server)
    chat.load(ConnectRemote(RemoteEndpoint("http://127.0.0.1:9/v1")))  # nobody listens there
    assert chat.engine.is_remote
    with qtbot.waitSignal(server.engine_lost, timeout=TIMEOUT_MS):
        psutil.Process(chat.worker_pid).kill()
    assert names[-1] == ""
    qtbot.waitUntil(lambda: names[-1] == "one", timeout=TIMEOUT_MS)
    assert server.state is ServerState.ON
    assert chat.engine.is_remote


def test_a_model_that_was_unloaded_does_not_come_back_with_the_process(
    qtbot: QtBot, server: ServerController, chat: ChatController, tmp_path: Path
) -> None:
    names: list[str] = []
    start(qtbot, server)
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.load(LoadModel(tmp_path / "one"))
    chat.unload_model()
    qtbot.waitUntil(lambda: chat.state is ChatState.UNLOADED, timeout=TIMEOUT_MS)
    chat.load(ConnectRemote(RemoteEndpoint("http://127.0.0.1:9/v1")))
    server.model_changed.connect(names.append)
    with qtbot.waitSignal(server.engine_lost, timeout=TIMEOUT_MS):
        psutil.Process(chat.worker_pid).kill()
    wait_for(qtbot, server, ServerState.ON)
    server.stop()  # whatever was asked of the process before has been done when that is answered
    wait_for(qtbot, server, ServerState.OFF)
    assert set(names) == {""}


def test_a_port_that_kills_its_process_is_given_up(qtbot: QtBot, server: ServerController) -> None:
    server.set_port(DEADLY_PORT)
    server.start()
    wait_for(qtbot, server, ServerState.FAILED)
    assert server.error is not None
    assert "twice within a minute (exit code 9)" in server.error.message


def test_other_machines_need_a_key(qtbot: QtBot, server: ServerController) -> None:
    server.set_allows_lan(True)
    assert server.api_key.startswith("sk-")
    assert len(server.api_key) > 30
    start(qtbot, server)
    assert server.base_url.startswith("http://0.0.0.0:")
    qtbot.waitUntil(lambda: bool(server.log.running), timeout=TIMEOUT_MS)
    (request,) = server.log.running
    assert request.event.client == f"key {server.api_key}"


@pytest.mark.parametrize("kept", ["sk-kept", ""])
def test_a_key_that_was_not_read_yet_is_not_replaced(
    qtbot: QtBot, chat: ChatController, kept: str
) -> None:
    Keychain(keys_dir()).write(KEY_NAME, kept)
    server = create(chat)
    server.set_allows_lan(True)
    server.prepare()
    qtbot.waitUntil(lambda: bool(server.api_key), timeout=TIMEOUT_MS)
    server.shutdown()
    assert server.allows_lan
    assert Keychain(keys_dir()).read(KEY_NAME) == server.api_key
    assert server.api_key == kept or (not kept and server.api_key.startswith("sk-"))


def test_without_a_key_it_is_for_this_machine_alone(server: ServerController) -> None:
    server.set_allows_lan(True)
    server.set_api_key("")
    assert not server.allows_lan


def test_the_key_is_kept_but_not_in_the_settings(
    qtbot: QtBot, server: ServerController, chat: ChatController
) -> None:
    with qtbot.waitSignal(server.options_changed, timeout=TIMEOUT_MS):
        server.generate_key()
    qtbot.waitUntil(lambda: server.key_place is KeyPlace.FILE, timeout=TIMEOUT_MS)
    server.set_starts_with_program(True)
    assert server.api_key not in settings_path().read_text(encoding="utf-8")
    again = create(chat)
    again.prepare()
    wait_for(qtbot, again, ServerState.ON)  # it starts with the program
    assert again.api_key == server.api_key
    again.shutdown()


def test_a_request_is_cancelled(qtbot: QtBot, server: ServerController) -> None:
    start(qtbot, server)
    qtbot.waitUntil(lambda: bool(server.log.running), timeout=TIMEOUT_MS)
    server.cancel("r1")
    qtbot.waitUntil(lambda: bool(server.log.finished), timeout=TIMEOUT_MS)
    assert server.log.finished[0].event.state is ServerRequestState.CANCELLED
    assert server.log.running == ()
    server.clear_log()
    assert server.log.finished == ()


def test_the_log_is_bounded_and_counts_on() -> None:
    log = RequestLog()
    for number in range(MAX_FINISHED + 50):
        log.add(server_request(str(number), ServerRequestState.FINISHED))
    assert len(log.finished) == MAX_FINISHED
    assert log.finished[0].event.request_id == str(MAX_FINISHED + 49)
    assert log.num_finished == MAX_FINISHED + 50


def test_running_requests_keep_their_order_and_add_up() -> None:
    log = RequestLog()
    for name in ("a", "b", "a"):
        log.add(replace(server_request(name, ServerRequestState.DECODING), tok_s=1.5))
    assert [request.event.request_id for request in log.running] == ["a", "b"]
    assert log.tok_s == 3.0
