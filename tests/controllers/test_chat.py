"""The chat controller over a real child process with a fake engine."""

from __future__ import annotations

import logging
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.chat.store import ChatStore
from app.chat.transcript import Turn
from app.controllers.chat import ChatController
from app.controllers.chat_state import ChatState
from app.core.events import ErrorInfo
from app.core.paths import chats_path
from app.core.sampling_settings import SamplingSettings
from app.workers.commands import LoadModel
from tests.controllers.chatting import FAKE, MODEL, TIMEOUT_MS, converse, counted, saved_turns


def test_load_tells_states_model_and_memory(
    qtbot: QtBot, chat: ChatController, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    states: list[ChatState] = []
    chat.state_changed.connect(states.append)
    with qtbot.waitSignals([chat.model_loaded, chat.memory_sampled], timeout=TIMEOUT_MS):
        chat.load(LoadModel(MODEL))
    assert states == [ChatState.LOADING, ChatState.READY]
    assert chat.model is not None
    assert (chat.model.name, chat.model.weights_bytes) == ("Fake-1B", 5_000_000_000)
    assert f"Fake-1B is ready: {chat.model.device_note}." in caplog.text
    with qtbot.waitSignal(chat.state_changed, timeout=TIMEOUT_MS):
        chat.unload_model()
    qtbot.waitUntil(lambda: chat.state is ChatState.UNLOADED, timeout=TIMEOUT_MS)
    assert chat.model is None


def test_after_unloading_and_after_a_failure_the_next_model_gets_a_fresh_process(
    qtbot: QtBot, ready: ChatController
) -> None:
    pids = [ready.worker_pid]
    ready.unload_model()
    qtbot.waitUntil(lambda: ready.worker_pid is None, timeout=TIMEOUT_MS)
    assert ready.state is ChatState.UNLOADED
    for name, signal in (("missing", ready.failed), ("Fake-1B", ready.model_loaded)):
        with qtbot.waitSignal(signal, timeout=TIMEOUT_MS):
            ready.load(LoadModel(Path(name)))
        pids.append(ready.worker_pid)
    assert None not in pids
    assert len(set(pids)) == 3


def test_failed_load_is_one_sentence(qtbot: QtBot, chat: ChatController) -> None:
    with qtbot.waitSignal(chat.failed, timeout=TIMEOUT_MS) as blocker:
        chat.load(LoadModel(Path("missing")))
    assert blocker.args == [ErrorInfo("InvalidSourceError", "There is no such model.")]
    assert chat.state is ChatState.FAILED


def test_a_reply_streams_and_is_saved(qtbot: QtBot, ready: ChatController) -> None:
    pieces: list[str] = []
    log: list[str] = []
    ready.text_appended.connect(lambda _, text: pieces.append(text))
    ready.turn_added.connect(lambda _, turn: log.append(f"added {turn.content}"))
    ready.reply_started.connect(lambda _: log.append("started"))
    ready.prefill_progressed.connect(lambda event: log.append(f"prefill {event.num_done}"))
    ready.reply_finished.connect(lambda _, turn: log.append("finished"))
    turn = converse(qtbot, ready, "count 300")
    assert log == ["added count 300", "started", "prefill 5", "finished"]
    assert turn.content == "".join(pieces) == counted(300)
    assert len(pieces) < 300, "tokens were not gathered"
    assert turn.stats is not None
    assert (turn.stats.finish_reason, turn.stats.completion_tokens) == ("stop", 7)
    assert turn.stats.decode_tok_s == 3.0
    assert turn.model_name == "Fake-1B"
    assert ready.state is ChatState.READY
    (row,) = ready.list.conversations()
    assert row.title == "count 300"
    assert saved_turns(row.conversation_id) == [
        ("user", "count 300", False),
        ("assistant", counted(300), False),
    ]


def test_the_rate_is_told_while_tokens_come(qtbot: QtBot, ready: ChatController) -> None:
    rates: list[float] = []
    ready.tokens_per_second.connect(rates.append)
    ready.send("forever")
    qtbot.waitUntil(lambda: any(rate > 0 for rate in rates), timeout=TIMEOUT_MS)
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS):
        ready.stop()
    assert all(rate >= 0 for rate in rates)


def test_the_whole_conversation_is_sent(qtbot: QtBot, ready: ChatController) -> None:
    ready.new_conversation(system_prompt="Count.", sampling=SamplingSettings(temperature=0.0))
    converse(qtbot, ready, "count 2")
    reply = converse(qtbot, ready, "echo")
    assert reply.content == "system:Count.|user:count 2|assistant:0 1 |user:echo"


def test_stop_keeps_what_came(qtbot: QtBot, ready: ChatController) -> None:
    with qtbot.waitSignal(ready.text_appended, timeout=TIMEOUT_MS):
        ready.send("forever")
    assert ready.state is ChatState.GENERATING
    assert ready.reply_text.startswith("0 ")
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS) as blocker:
        ready.stop()
    turn = blocker.args[1]
    assert turn.stats.finish_reason == "cancelled"
    assert not turn.is_interrupted
    assert turn.content == counted(len(turn.content.split()))
    assert ready.state is ChatState.READY


def test_send_is_for_ready_only(qtbot: QtBot, chat: ChatController) -> None:
    chat.send("too early")
    assert chat.conversation.turns == ()
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.load(LoadModel(MODEL))
    chat.send("   \n")
    assert chat.conversation.turns == ()
    chat.send("forever")
    chat.send("while one is running")
    chat.regenerate()
    assert [turn.content for turn in chat.conversation.turns] == ["forever"]


def test_refused_reply_leaves_no_turn_and_can_be_asked_again(
    qtbot: QtBot, ready: ChatController
) -> None:
    with qtbot.waitSignal(ready.reply_failed, timeout=TIMEOUT_MS) as blocker:
        ready.send("fail")
    assert blocker.args[1] == ErrorInfo("ContextLengthError", "The prompt is too long.")
    assert [turn.role for turn in ready.conversation.turns] == ["user"]
    assert ready.state is ChatState.READY
    with qtbot.waitSignal(ready.reply_failed, timeout=TIMEOUT_MS):
        ready.regenerate()


def test_reply_that_breaks_off_keeps_its_text(qtbot: QtBot, ready: ChatController) -> None:
    with qtbot.waitSignals([ready.reply_finished, ready.failed], timeout=TIMEOUT_MS):
        ready.send("break")
    assert ready.conversation.turns[-1].is_interrupted
    assert ready.conversation.turns[-1].content == counted(21)


def test_empty_reply_is_a_turn(qtbot: QtBot, ready: ChatController) -> None:
    assert converse(qtbot, ready, "silence").content == ""
    assert converse(qtbot, ready, "echo").content == "user:silence\n\necho"


def test_regenerate_replaces_the_reply(qtbot: QtBot, ready: ChatController) -> None:
    first = converse(qtbot, ready, "count 3")
    removed: list[tuple[str, int]] = []
    ready.turn_removed.connect(lambda *args: removed.append(args))
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS):
        ready.regenerate()
    conversation_id = ready.conversation.conversation_id
    assert removed == [(conversation_id, first.turn_id)]
    assert [turn.content for turn in ready.conversation.turns] == ["count 3", counted(3)]
    assert len(saved_turns(conversation_id)) == 2


def test_reply_goes_on_while_another_conversation_is_open(
    qtbot: QtBot, ready: ChatController
) -> None:
    with qtbot.waitSignal(ready.text_appended, timeout=TIMEOUT_MS):
        ready.send("count 400")
    first_id = ready.conversation.conversation_id
    ready.new_conversation()
    assert ready.replying_conversation_id == first_id
    ready.open_conversation(first_id)
    assert [turn.role for turn in ready.conversation.turns] == ["user"]
    assert ready.reply_text.startswith("0 ")
    ready.new_conversation()
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS) as blocker:
        pass
    assert blocker.args[0] == first_id
    assert ready.conversation.turns == ()
    ready.open_conversation(first_id)
    assert ready.conversation.turns[-1].content == counted(400)


def test_worker_death_mid_reply_keeps_the_text_and_restart_reloads(
    qtbot: QtBot, ready: ChatController
) -> None:
    replies: list[Turn] = []
    ready.reply_finished.connect(lambda _, turn: replies.append(turn))
    with qtbot.waitSignal(ready.worker_died, timeout=TIMEOUT_MS) as blocker:
        ready.send("die")
    (turn,), (message, report) = replies, blocker.args
    assert "exit code 9" in report.read_text(encoding="utf-8")
    assert turn.is_interrupted
    assert turn.content == counted(21)
    assert message == ("The engine stopped unexpectedly (exit code 9). The reply so far is saved.")
    assert ready.state is ChatState.DOWN
    assert saved_turns(ready.conversation.conversation_id)[-1] == ("assistant", counted(21), True)
    with qtbot.waitSignal(ready.model_loaded, timeout=TIMEOUT_MS):
        ready.restart()
    assert converse(qtbot, ready, "count 3").content == counted(3)


def test_death_while_loading(qtbot: QtBot, chat: ChatController) -> None:
    with qtbot.waitSignal(chat.worker_died, timeout=TIMEOUT_MS):
        chat.load(LoadModel(Path("die")))
    assert chat.state is ChatState.DOWN
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.load(LoadModel(MODEL))


def test_restart_of_a_worker_that_hangs_mid_reply(qtbot: QtBot, ready: ChatController) -> None:
    states: list[ChatState] = []
    with qtbot.waitSignal(ready.text_appended, timeout=TIMEOUT_MS):
        ready.send("forever")
    psutil.Process(ready.worker_pid).suspend()
    ready.state_changed.connect(states.append)
    with qtbot.waitSignal(ready.model_loaded, timeout=TIMEOUT_MS):
        ready.restart()
    assert states == [ChatState.LOADING, ChatState.READY]
    assert ready.conversation.turns[-1].is_interrupted
    assert converse(qtbot, ready, "count 3").content == counted(3)


def test_restart_of_a_worker_that_is_well(qtbot: QtBot, ready: ChatController) -> None:
    pid = ready.worker_pid
    with qtbot.waitSignal(ready.model_loaded, timeout=TIMEOUT_MS):
        ready.restart()
    assert ready.worker_pid not in (None, pid)
    assert ready.state is ChatState.READY


def test_shutdown_mid_reply_saves_the_text(qtbot: QtBot) -> None:
    chat = ChatController(ChatStore.open(chats_path()), service=FAKE)
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.load(LoadModel(MODEL))
    with qtbot.waitSignal(chat.text_appended, timeout=TIMEOUT_MS):
        chat.send("forever")
    conversation_id = chat.conversation.conversation_id
    chat.shutdown()
    role, content, is_interrupted = saved_turns(conversation_id)[-1]
    assert (role, is_interrupted) == ("assistant", True)
    assert content == counted(len(content.split())) != ""


def test_conversations_are_listed_renamed_deleted_and_restored(
    qtbot: QtBot, ready: ChatController
) -> None:
    converse(qtbot, ready, "count 1")
    first_id = ready.conversation.conversation_id
    ready.new_conversation()
    converse(qtbot, ready, "count 2")
    second_id = ready.conversation.conversation_id
    ready.rename_conversation(first_id, "the first")
    ready.rename_conversation(second_id, "the second")
    assert [row.title for row in ready.list.conversations()] == ["the second", "the first"]
    assert [row.title for row in ready.list.conversations("FIRST")] == ["the first"]
    ready.delete_conversation(second_id)
    assert ready.conversation.turns == ()
    assert [row.title for row in ready.list.conversations()] == ["the first"]
    ready.list.restore(second_id)
    ready.open_conversation(second_id)
    assert ready.conversation.title == "the second"
    assert len(ready.conversation.turns) == 2


def test_deleting_the_conversation_of_a_reply_stops_it(qtbot: QtBot, ready: ChatController) -> None:
    with qtbot.waitSignal(ready.text_appended, timeout=TIMEOUT_MS):
        ready.send("forever")
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS):
        ready.delete_conversation(ready.conversation.conversation_id)
    assert ready.state is ChatState.READY


def test_a_reply_that_cannot_be_saved_replaces_nothing(qtbot: QtBot, ready: ChatController) -> None:
    """The disk is full: what is on the screen is what is saved, and a message is not sent twice."""
    converse(qtbot, ready, "count 1")
    before = ready.conversation.turns
    connection = ready._store._connection
    connection.execute("PRAGMA query_only = ON")
    removed: list[int] = []
    ready.turn_removed.connect(lambda _id, turn_id: removed.append(turn_id))
    for ask in (ready.regenerate, ready.continue_reply):
        with qtbot.waitSignal(ready.failed, timeout=TIMEOUT_MS):
            ask()
        assert (ready.conversation.turns, removed) == (before, [])
        assert ready.state is ChatState.READY
    assert not ready.send("not taken")
    connection.execute("PRAGMA query_only = OFF")
    ready.turn_added.connect(lambda *_: connection.execute("PRAGMA query_only = ON"))
    with qtbot.waitSignal(ready.failed, timeout=TIMEOUT_MS):
        assert ready.send("taken")
    assert [turn.content for turn in ready.conversation.turns[2:]] == ["taken"]
    connection.execute("PRAGMA query_only = OFF")


def test_settings_stay_with_the_conversation(qtbot: QtBot, ready: ChatController) -> None:
    ready.set_system_prompt("before the first message")
    converse(qtbot, ready, "count 1")
    ready.set_sampling(SamplingSettings(top_k=9))
    conversation_id = ready.conversation.conversation_id
    ready.new_conversation()
    assert ready.conversation.sampling == SamplingSettings()
    ready.open_conversation(conversation_id)
    assert ready.conversation.system_prompt == "before the first message"
    assert ready.conversation.sampling == SamplingSettings(top_k=9)


def test_unknown_conversation_is_one_sentence(qtbot: QtBot, chat: ChatController) -> None:
    with qtbot.waitSignal(chat.failed, timeout=TIMEOUT_MS) as blocker:
        chat.open_conversation("no such id")
    assert "does not exist" in blocker.args[0].message
