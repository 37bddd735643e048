"""The real window with the starter model and its port open: the official client asks beside it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import openai
import psutil
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.controllers.chat_state import ChatState
from app.controllers.server import ServerState
from app.core.paths import settings_path
from app.core.sampling_settings import SamplingSettings
from app.core.server_events import ServerRequestState
from app.core.settings_store import SettingsStore
from app.gui import Program
from tests.ui.window_support import TIMEOUT_MS, running_program, texts

STORY = "Tell a very long story about a lighthouse keeper, with many chapters."


@dataclass
class Stream:
    """A streamed reply, read on a thread of its own, as another program would."""

    base_url: str
    prompt: str = STORY
    max_tokens: int | None = None
    text: str = ""
    finish_reason: str = ""
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self) -> None:
        with openai.OpenAI(base_url=self.base_url, api_key="any", max_retries=0) as client:
            try:
                stream = client.chat.completions.create(
                    model="any",
                    messages=[{"role": "user", "content": self.prompt}],
                    temperature=0,
                    max_completion_tokens=self.max_tokens,
                    stream=True,
                )
                for chunk in stream:
                    if chunk.choices:
                        self.text += chunk.choices[0].delta.content or ""
                        self.finish_reason = chunk.choices[0].finish_reason or self.finish_reason
            except openai.OpenAIError as error:
                self.errors.append(str(error))


@pytest.fixture
def program(qtbot: QtBot, starter_checkpoint: Path) -> Iterator[Program]:
    """The program with the starter model in its engine, and the switch flipped."""
    SettingsStore(settings_path()).update(server_port=free_port(), temperature=0.0, max_tokens=400)
    with running_program() as running:
        running.window.load_model(starter_checkpoint)
        wait(qtbot, lambda: running.controllers.chat.state is ChatState.READY)
        qtbot.mouseClick(running.window.desk.server_toggle.switch, Qt.MouseButton.LeftButton)
        wait(qtbot, lambda: running.controllers.server.state is ServerState.ON)
        yield running


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait(qtbot: QtBot, condition: Callable[[], bool]) -> None:
    qtbot.waitUntil(condition, timeout=TIMEOUT_MS)


def test_chat_and_port_share_the_model(qtbot: QtBot, program: Program) -> None:
    server, chat, window = program.controllers.server, program.controllers.chat, program.window
    window.show_page(window.server_page)
    stream = Stream(server.base_url)
    wait(qtbot, lambda: len(stream.text) > 20)
    wait(qtbot, lambda: "answering" in row_texts(program))
    # The chat answers meanwhile, from first to last word.
    window.show_page(window.chat_page)
    wait(qtbot, lambda: "The server answers, too (1 running)" in texts(window.chat_page.panel))
    chat.set_sampling(SamplingSettings(temperature=0.0, max_tokens=12))
    window.chat_page.composer.submitted.emit("What is the capital of France?")
    wait(qtbot, lambda: chat.state is ChatState.GENERATING)
    wait(qtbot, lambda: chat.state is ChatState.READY)
    assert chat.conversation.turns[-1].stats
    assert stream.thread.is_alive(), "the port's reply ended before the chat's"
    grown = len(stream.text)
    wait(qtbot, lambda: len(stream.text) > grown)
    # It is cancelled from the list.
    (row,) = window.server_page.requests.running_rows
    assert row.client.text().startswith("OpenAI/Python")
    row.cancel_button.click()
    wait(qtbot, lambda: not stream.thread.is_alive())
    wait(qtbot, lambda: not window.server_page.requests.running_rows)
    assert server.log.finished[0].event.state is ServerRequestState.CANCELLED
    # And the port closes while another reply runs.
    second = Stream(server.base_url)
    wait(qtbot, lambda: len(second.text) > 20)
    qtbot.mouseClick(window.desk.server_toggle.switch, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: server.state is ServerState.OFF)
    wait(qtbot, lambda: not second.thread.is_alive())
    assert chat.state is ChatState.READY


def test_a_killed_engine_comes_back_with_port_and_model(qtbot: QtBot, program: Program) -> None:
    server, chat = program.controllers.server, program.controllers.chat
    base_url = server.base_url
    psutil.Process(chat.worker_pid).kill()
    wait(qtbot, lambda: server.state is not ServerState.ON)
    wait(qtbot, lambda: server.state is ServerState.ON and chat.state is ChatState.READY)
    assert server.base_url == base_url
    banners = program.window.banners.banners
    assert any("started again" in banner.text for banner in banners)
    stream = Stream(base_url, "Say hello.", max_tokens=8)
    wait(qtbot, lambda: not stream.thread.is_alive())
    assert stream.errors == []
    assert stream.text
    assert stream.finish_reason in ("stop", "length")


def row_texts(program: Program) -> str:
    return " ".join(row.state.text() for row in program.window.server_page.requests.running_rows)
