"""The chat controller with the real engine and the starter model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.chat.store import ChatStore
from app.chat.transcript import Turn
from app.controllers.chat import ChatController
from app.controllers.chat_state import ChatState
from app.controllers.context_meter import ContextMeter, ContextUse
from app.core.paths import chats_path
from app.core.sampling_settings import SamplingSettings
from app.workers.commands import LoadModel

TIMEOUT_MS = 240_000
GREEDY = SamplingSettings(temperature=0.0, max_tokens=24)
LONG = SamplingSettings(temperature=0.0)
STORY = "Write a very long story about a dog, a cat and a bird. Use many words."


@pytest.fixture
def chat(qtbot: QtBot, starter_checkpoint: Path) -> Iterator[ChatController]:
    controller = ChatController(ChatStore.open(chats_path()))
    with qtbot.waitSignal(controller.model_loaded, timeout=TIMEOUT_MS):
        # What it answers is known for float32; int8 activations lead this small model elsewhere.
        controller.load(LoadModel(starter_checkpoint, "cpu", 1024, activations="fp32"))
    yield controller
    controller.shutdown()


def converse(qtbot: QtBot, chat: ChatController, text: str) -> Turn:
    with qtbot.waitSignal(chat.reply_finished, timeout=TIMEOUT_MS) as blocker:
        chat.send(text)
    turn = blocker.args[1]
    assert isinstance(turn, Turn)
    return turn


def saved_reply(conversation_id: str) -> Turn:
    store = ChatStore.open(chats_path())
    turn = store.load_conversation(conversation_id).turns[-1]
    store.close()
    return turn


def test_a_reply_that_was_cut_goes_on_as_it_would_have(qtbot: QtBot, chat: ChatController) -> None:
    chat.new_conversation(sampling=GREEDY)
    question = "Count from one to twenty, in words."
    whole = converse(qtbot, chat, question).content
    chat.new_conversation(sampling=replace(GREEDY, max_tokens=12))
    first = converse(qtbot, chat, question)
    assert whole.startswith(first.content)
    with qtbot.waitSignal(chat.reply_finished, timeout=TIMEOUT_MS) as blocker:
        chat.continue_reply()
    assert blocker.args[1].content == whole


def test_what_is_measured_is_what_the_prompt_takes(qtbot: QtBot, chat: ChatController) -> None:
    meter = ContextMeter(chat.engine)
    chat.new_conversation(system_prompt="Be brief.", sampling=replace(GREEDY, max_tokens=4))
    converse(qtbot, chat, "Hello!")
    with qtbot.waitSignal(meter.measured, timeout=TIMEOUT_MS) as blocker:
        meter.update(chat.conversation, "How are you?", chat.overflow)
    use = blocker.args[0]
    reply = converse(qtbot, chat, "How are you?")
    assert reply.stats
    assert use == ContextUse(reply.stats.prompt_tokens, 1024, None)


def test_turns_that_do_not_fit_are_left_out_and_named(qtbot: QtBot, chat: ChatController) -> None:
    meter = ContextMeter(chat.engine)
    chat.new_conversation(sampling=replace(GREEDY, max_tokens=4))
    for _ in range(2):
        assert converse(qtbot, chat, "Tell me a story about a dog. " * 30).content
    draft = "Tell me a story about a cat. " * 75
    with qtbot.waitSignal(meter.measured, timeout=TIMEOUT_MS) as blocker:
        meter.update(chat.conversation, draft, chat.overflow)
    use = blocker.args[0]
    assert use.num_tokens < 1024
    assert use.first_kept_turn == chat.conversation.turns[2].turn_id
    reply = converse(qtbot, chat, draft)
    assert reply.stats
    assert reply.stats.prompt_tokens == use.num_tokens


def test_two_turns_use_the_cache_and_are_saved(qtbot: QtBot, chat: ChatController) -> None:
    chat.new_conversation(sampling=GREEDY)
    first = converse(qtbot, chat, "What is the capital of France?")
    assert "Paris" in first.content
    second = converse(qtbot, chat, "And of Italy?")
    assert first.stats
    assert second.stats
    assert second.stats.cached_tokens > 0
    assert second.stats.prompt_tokens > first.stats.prompt_tokens
    assert saved_reply(chat.conversation.conversation_id) == second


def test_stop_ends_a_long_reply(qtbot: QtBot, chat: ChatController) -> None:
    chat.new_conversation(sampling=LONG)
    with qtbot.waitSignal(chat.text_appended, timeout=TIMEOUT_MS):
        chat.send(STORY)
    with qtbot.waitSignal(chat.reply_finished, timeout=TIMEOUT_MS) as blocker:
        chat.stop()
    assert blocker.args[1].stats.finish_reason == "cancelled"
    assert chat.state is ChatState.READY


def test_kill_mid_reply_saves_the_text_and_one_click_restarts(
    qtbot: QtBot, chat: ChatController
) -> None:
    pieces: list[str] = []
    replies: list[Turn] = []
    chat.text_appended.connect(lambda _, text: pieces.append(text))
    chat.reply_finished.connect(lambda _, turn: replies.append(turn))
    chat.new_conversation(sampling=LONG)
    chat.send(STORY)
    qtbot.waitUntil(lambda: len("".join(pieces).split()) >= 5, timeout=TIMEOUT_MS)
    with qtbot.waitSignal(chat.worker_died, timeout=TIMEOUT_MS) as blocker:
        psutil.Process(chat.worker_pid).kill()
    assert "The reply so far is saved." in blocker.args[0]
    assert chat.state is ChatState.DOWN
    (reply,) = replies
    assert reply.is_interrupted
    assert reply.content == "".join(pieces)
    assert saved_reply(chat.conversation.conversation_id) == reply
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.restart()
    chat.new_conversation(sampling=GREEDY)
    assert "Paris" in converse(qtbot, chat, "What is the capital of France?").content


def test_another_model_ends_a_reply_and_keeps_its_text(
    qtbot: QtBot, chat: ChatController, starter_checkpoint: Path
) -> None:
    replies: list[Turn] = []
    chat.reply_finished.connect(lambda _, turn: replies.append(turn))
    chat.new_conversation(sampling=LONG)
    chat.send(STORY)
    qtbot.waitUntil(lambda: len(chat.reply_text) > 20, timeout=TIMEOUT_MS)
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS) as blocker:
        chat.load(LoadModel(starter_checkpoint, "cpu", 512, activations="fp32"))
    assert blocker.args[0].max_model_len == 512
    (reply,) = replies
    assert reply.stats is not None
    assert reply.stats.finish_reason == "cancelled"
    assert saved_reply(chat.conversation.conversation_id) == reply
    assert chat.state is ChatState.READY
    chat.new_conversation(sampling=GREEDY)
    assert "Paris" in converse(qtbot, chat, "What is the capital of France?").content


def test_memory_is_sampled_by_cause(qtbot: QtBot, chat: ChatController) -> None:
    with qtbot.waitSignal(chat.memory_sampled, timeout=TIMEOUT_MS) as blocker:
        pass
    (sample,) = blocker.args
    assert sample.rss_bytes > sample.weights_bytes > 50_000_000
    assert sample.total_bytes > sample.available_bytes > 0


def test_a_prompt_beyond_the_context_is_refused(qtbot: QtBot, chat: ChatController) -> None:
    with qtbot.waitSignal(chat.reply_failed, timeout=TIMEOUT_MS) as blocker:
        chat.send("word " * 3000)
    assert blocker.args[1].kind == "ContextLengthError"
    assert chat.state is ChatState.READY
