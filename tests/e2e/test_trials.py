"""Faults that users of other programs met, as trials of the whole window with real workers."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openai
import pytest
from pytestqt.qtbot import QtBot

from app.chat.transcript import Turn
from app.controllers.chat_state import ChatState
from app.controllers.server import ServerState
from app.core.events import Event, TokensGenerated
from app.core.paths import library_dir, settings_path
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.widgets.reply_card import ReplyCard
from tests.awq_factory import awq_tensors
from tests.converter.test_awq import quantization
from tests.converter.test_dense_source import write_folder
from tests.gguf_factory import TinyModel
from tests.starter_tokenizer import build_files, write_files
from tests.ui.window_support import TIMEOUT_MS, cells, drop_on, running_program, texts

POEM = "用中文写一首诗,加三个表情符号"
NUM_TOKENS = 96


@pytest.fixture
def program(qtbot: QtBot) -> Iterator[Program]:
    """With the likeliest token each time, and short replies."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    SettingsStore(settings_path()).update(temperature=0.0, max_tokens=NUM_TOKENS, server_port=port)
    with running_program() as running:
        yield running


def wait(qtbot: QtBot, condition: Callable[[], bool]) -> None:
    qtbot.waitUntil(condition, timeout=TIMEOUT_MS)


def ask(qtbot: QtBot, program: Program, text: str) -> Turn:
    turns: list[Turn] = []
    failures: list[object] = []
    chat = program.controllers.chat
    chat.reply_finished.connect(lambda _id, turn: turns.append(turn))
    chat.reply_failed.connect(lambda _id, error: failures.append(error))
    chat.send(text)
    wait(qtbot, lambda: bool(turns or failures))
    assert not failures
    return turns[0]


def write_awq_folder(folder: Path, starter: Path) -> Path:
    """A small Qwen2.5 as AutoAWQ writes it (qweight int32, groups of 128), which can chat."""
    sizes = {"hidden": 128, "heads": 4, "head_dim": 32, "inner": 256, "vocab": 49152}
    model = TinyModel("qwen2", tied=True, **sizes)
    tensors, _ = awq_tensors(model, "gemm", 128)
    write_folder(folder, model, tensors, quantization_config=quantization(128))
    write_files(build_files(starter), folder)
    (folder / "chat_template.jinja").unlink()  # the starter's own is in its tokenizer_config.json
    return folder


def test_a_qwen_folder_of_awq_is_recognised_converted_and_answers(
    qtbot: QtBot, program: Program, starter_gguf: Path, tmp_path: Path
) -> None:
    folder = write_awq_folder(tmp_path / "Qwen2.5-Tiny-AWQ", starter_gguf)
    page = program.window.convert_page
    drop_on(program.window, [folder])
    wait(qtbot, lambda: page.options.isVisible() or page.error.isVisible())
    assert page.options.isVisible(), page.error.message.text()
    wait(qtbot, lambda: {"AWQ", "Qwen2ForCausalLM"} <= set(texts(page.source).splitlines()))
    groups = {tuple(row[:3]) for row in cells(page.plan.table)}
    assert ("AWQ int4 g128", "int4 zero g128", "exact") in groups
    page.options.convert_button.click()
    wait(qtbot, lambda: page.report.isVisible() or page.error.isVisible())
    assert page.report.isVisible(), page.error.message.text()
    assert "Lossless" in page.report.badge.text()
    assert [path.name for path in library_dir().iterdir()] == [folder.name]
    page.report.chat_button.click()
    wait(qtbot, lambda: program.controllers.chat.state is ChatState.READY)
    turn = ask(qtbot, program, "Hello")
    assert turn.stats is not None
    assert turn.stats.completion_tokens > 0


def test_characters_of_several_tokens_are_never_shown_in_halves(
    qtbot: QtBot, program: Program, starter_checkpoint: Path
) -> None:
    chat, server = program.controllers.chat, program.controllers.server
    program.window.load_model(starter_checkpoint)
    wait(qtbot, lambda: chat.state is ChatState.READY)
    deltas: list[str] = []
    generated: list[TokensGenerated] = []
    chat.text_appended.connect(lambda _id, text: deltas.append(text))
    chat.engine.event_received.connect(lambda event: _keep_tokens(event, generated))
    reply = ask(qtbot, program, POEM).content
    halves = [event for event in generated if event.token_ids and not event.text]
    assert len(halves) >= 5, "no character came in several tokens"
    assert any(ord(character) > 0x4E00 for character in reply)
    assert "\ufffd" not in "".join(deltas)
    assert "".join(deltas) == reply
    card = program.window.chat_page.transcript.cards[-1]
    assert isinstance(card, ReplyCard)
    assert card.body.text == reply

    server.start()
    wait(qtbot, lambda: server.state is ServerState.ON)
    streamed = _in_thread(qtbot, lambda: _ask_port(server.base_url, stream=True))
    whole = _in_thread(qtbot, lambda: _ask_port(server.base_url, stream=False))
    assert len(streamed) > NUM_TOKENS // 2
    assert not any("\ufffd" in delta for delta in streamed)
    assert "".join(streamed) == "".join(whole) == reply


def _keep_tokens(event: Event, into: list[TokensGenerated]) -> None:
    if isinstance(event, TokensGenerated):
        into.append(event)


def _in_thread(qtbot: QtBot, function: Callable[[], list[str]]) -> list[str]:
    """As another program would, while the window's loop goes on."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(function)
        wait(qtbot, future.done)
        return future.result()


def _ask_port(base_url: str, *, stream: bool) -> list[str]:
    """The reply, or the pieces that it came in."""
    with openai.OpenAI(base_url=base_url, api_key="any", max_retries=0) as client:
        reply = client.chat.completions.create(
            model="any",
            messages=[{"role": "user", "content": POEM}],
            temperature=0,
            max_completion_tokens=NUM_TOKENS,
            stream=stream,
        )
        if not stream:
            return [reply.choices[0].message.content]
        return [chunk.choices[0].delta.content or "" for chunk in reply if chunk.choices]
