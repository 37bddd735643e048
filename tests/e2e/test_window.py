"""The whole program with the real starter model: drop, convert, chat, stop, restart, survive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QListView, QWidget
from pytestqt.qtbot import QtBot

from app.controllers.chat_state import ChatState
from app.core.paths import library_dir, settings_path
from app.core.sampling_settings import SamplingSettings
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.widgets.reply_card import ReplyCard
from tests.ui.window_support import TIMEOUT_MS, drop_on, running_program

LONG_TASK = "Write a very long story about a lighthouse keeper, with many chapters."
MIN_LONG_TOKENS = 400


@pytest.fixture
def program(qtbot: QtBot) -> Iterator[Program]:
    """The program on an empty home, with short and repeatable replies."""
    keep_replies_short()
    with running_program() as running:
        yield running


@pytest.fixture
def ready(qtbot: QtBot, program: Program, starter_checkpoint: Path) -> Program:
    """The program with the converted starter model in its engine."""
    program.window.load_model(starter_checkpoint)
    wait_for_state(qtbot, program, ChatState.READY)
    return program


def keep_replies_short() -> None:
    SettingsStore(settings_path()).update(temperature=0.0, max_tokens=48)


def wait(qtbot: QtBot, condition: Callable[[], bool]) -> None:
    qtbot.waitUntil(condition, timeout=TIMEOUT_MS)


def wait_for_state(qtbot: QtBot, program: Program, state: ChatState) -> None:
    wait(qtbot, lambda: program.controllers.chat.state is state)


def ask(qtbot: QtBot, program: Program, text: str) -> None:
    """Types and presses Enter, as the user does."""
    composer = program.window.chat_page.composer
    qtbot.keyClicks(composer.edit, text)
    qtbot.keyClick(composer.edit, Qt.Key.Key_Return)


def last_reply(program: Program) -> ReplyCard:
    card = program.window.chat_page.transcript.cards[-1]
    assert isinstance(card, ReplyCard)
    return card


def start_long_reply(qtbot: QtBot, program: Program) -> ReplyCard:
    """Asks for more than fits into the test, and waits for the first words."""
    program.controllers.chat.set_sampling(SamplingSettings(seed=7, max_tokens=4096))
    ask(qtbot, program, LONG_TASK)
    wait(qtbot, lambda: len(program.controllers.chat.reply_text) > 40)
    return last_reply(program)


def test_dropped_file_becomes_a_conversation_that_survives_a_restart(
    qtbot: QtBot, starter_gguf: Path
) -> None:
    keep_replies_short()
    question = "What is the capital of France? Answer in one sentence."
    with running_program() as program:
        convert_by_drop(qtbot, program, starter_gguf)
        ask(qtbot, program, question)
        wait_for_state(qtbot, program, ChatState.READY)
        answer = last_reply(program).text
        assert "Paris" in answer
        assert "tok/s" in last_reply(program).stats_text
    with running_program() as again:
        open_first_conversation(qtbot, again)
        shown = [card.text for card in again.window.chat_page.transcript.cards]
        assert shown == [question, answer]
        wait_for_state(qtbot, again, ChatState.READY)  # the last model is loaded by itself


def convert_by_drop(qtbot: QtBot, program: Program, source: Path) -> None:
    page = program.window.convert_page
    drop_on(program.window, [source])
    wait(qtbot, lambda: page.options.isVisible() or page.error.isVisible())
    assert "Recommended: Exact" in texts(page.options)
    page.options.convert_button.click()
    wait(qtbot, lambda: page.report.isVisible() or page.error.isVisible())
    assert page.report.isVisible(), page.error.message.text()
    assert "Lossless" in page.report.badge.text()
    page.report.chat_button.click()
    assert program.window.chat_page.isVisible()
    wait_for_state(qtbot, program, ChatState.READY)


def texts(widget: QWidget) -> str:
    return "\n".join(label.text() for label in widget.findChildren(QLabel))


def open_first_conversation(qtbot: QtBot, program: Program) -> None:
    view = program.window.chat_page.conversations.findChild(QListView)
    wait(qtbot, lambda: view.model().rowCount() == 1)
    place = view.visualRect(view.model().index(0, 0)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_reply_streams_and_stops_at_once(qtbot: QtBot, ready: Program) -> None:
    card = start_long_reply(qtbot, ready)
    lengths = {len(card.text)}
    wait(qtbot, lambda: lengths.add(len(card.text)) or len(lengths) > 3)
    composer = ready.window.chat_page.composer
    assert composer.stop_button.isVisible()
    qtbot.keyClick(composer.edit, Qt.Key.Key_Escape)
    wait_for_state(qtbot, ready, ChatState.READY)
    assert "stopped by you" in card.stats_text
    (turn,) = [t for t in ready.controllers.chat.conversation.turns if t.role == "assistant"]
    assert turn.content == card.text
    assert turn.stats.completion_tokens < MIN_LONG_TOKENS


def test_regenerate_replaces_the_last_reply(qtbot: QtBot, ready: Program) -> None:
    ask(qtbot, ready, "Say hello.")
    wait_for_state(qtbot, ready, ChatState.READY)
    first = last_reply(ready)
    ready.window.chat_page.regenerate()
    wait_for_state(qtbot, ready, ChatState.READY)
    assert last_reply(ready) is not first
    assert len(ready.window.chat_page.transcript.cards) == 2
    assert [turn.role for turn in ready.controllers.chat.conversation.turns] == [
        "user",
        "assistant",
    ]


def test_killed_engine_leaves_the_window_the_text_and_a_way_back(
    qtbot: QtBot, ready: Program
) -> None:
    card = start_long_reply(qtbot, ready)
    psutil.Process(ready.controllers.chat.worker_pid).kill()
    wait_for_state(qtbot, ready, ChatState.DOWN)
    page = ready.window.chat_page
    wait(qtbot, lambda: bool(page.banners.banners))
    (banner,) = page.banners.banners
    assert "engine" in banner.text
    assert len(card.text) > 40
    assert "interrupted" in card.stats_text
    saved = ready.controllers.chat.conversation.turns[-1]
    assert saved.is_interrupted
    assert saved.content == card.text

    banner.action_button.click()
    wait_for_state(qtbot, ready, ChatState.READY)
    assert page.banners.banners == ()
    page.new_conversation()
    ask(qtbot, ready, "Say yes.")
    wait_for_state(qtbot, ready, ChatState.READY)
    assert last_reply(ready).text


def test_conversation_opened_meanwhile_shows_its_running_reply_again(
    qtbot: QtBot, ready: Program
) -> None:
    start_long_reply(qtbot, ready)
    chat, page = ready.controllers.chat, ready.window.chat_page
    replying = chat.replying_conversation_id
    page.new_conversation()
    assert page.transcript.cards == ()
    chat.open_conversation(replying)
    assert len(page.transcript.cards) == 2
    shown = len(last_reply(ready).text)
    assert shown > 40
    wait(qtbot, lambda: len(last_reply(ready).text) > shown)
    page.stop_reply()
    wait_for_state(qtbot, ready, ChatState.READY)


def test_bad_file_is_one_sentence_and_nothing_is_lost(
    qtbot: QtBot, program: Program, starter_gguf: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken 模型.gguf"
    broken.write_bytes(starter_gguf.read_bytes()[:100_000])
    page = program.window.convert_page
    drop_on(program.window, [broken])
    wait(qtbot, lambda: page.error.isVisible())
    sentence = page.error.message.text()
    assert broken.name in sentence
    assert "Traceback" not in sentence
    assert sentence.count("\n") == 0
    assert page.drop_zone.isVisible()
    leftovers = [path.name for path in library_dir().rglob("*")] if library_dir().exists() else []
    assert [name for name in leftovers if name.endswith(".safetensors")] == []


def test_cancelled_conversion_leaves_nothing(
    qtbot: QtBot, program: Program, starter_gguf: Path
) -> None:
    page = program.window.convert_page
    program.window.convert([starter_gguf])
    wait(qtbot, lambda: page.plan.isVisible() or page.report.isVisible())
    page.progress.cancel_button.click()
    wait(qtbot, lambda: page.error.isVisible() or page.report.isVisible())
    assert page.error.isVisible(), "the conversion outran the click"
    assert "nothing was left behind" in page.error.message.text()
    finished = [path for path in library_dir().rglob("manifest.json") if library_dir().exists()]
    assert finished == []


def test_dropping_the_same_file_twice_offers_the_checkpoint(
    qtbot: QtBot, program: Program, starter_gguf: Path, starter_checkpoint: Path
) -> None:
    name = starter_gguf.stem
    library_dir().mkdir(parents=True)
    (library_dir() / name).symlink_to(starter_checkpoint, target_is_directory=True)
    page = program.window.convert_page
    drop_on(program.window, [starter_gguf])
    wait(qtbot, lambda: page.error.isVisible())
    page.error.chat_button.click()
    wait_for_state(qtbot, program, ChatState.READY)
    assert program.window.chat_page.isVisible()
