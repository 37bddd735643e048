"""Versions of turns, replies that go on, and the context, over a fake engine."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from app.controllers.chat import ChatController
from app.controllers.context_meter import ContextMeter, ContextUse
from tests.controllers.chatting import TIMEOUT_MS, converse, counted, saved_turns


def test_the_context_is_measured_with_the_draft_and_once_typing_pauses(
    qtbot: QtBot, ready: ChatController
) -> None:
    meter = ContextMeter(ready.engine)
    converse(qtbot, ready, "count 3")  # two words, and three of the reply
    uses: list[ContextUse] = []
    meter.measured.connect(uses.append)
    for draft in ("one", "one two", "one two three"):
        meter.update(ready.conversation, draft, ready.overflow)
    qtbot.waitUntil(lambda: bool(uses), timeout=TIMEOUT_MS)
    assert uses == [ContextUse(8, 50, None)]


def test_the_first_turn_that_the_model_would_see_is_told(
    qtbot: QtBot, ready: ChatController
) -> None:
    meter = ContextMeter(ready.engine)
    converse(qtbot, ready, "count 40")
    with qtbot.waitSignal(meter.measured, timeout=TIMEOUT_MS) as blocker:
        meter.update(ready.conversation, "and " * 10, ready.overflow)
    assert blocker.args == [ContextUse(10, 50, -1)]  # the draft alone
    converse(qtbot, ready, "count 2")
    with qtbot.waitSignal(meter.measured, timeout=TIMEOUT_MS) as blocker:
        meter.update(ready.conversation, "and " * 10, ready.overflow)
    kept = ready.conversation.turns[2]
    assert blocker.args == [ContextUse(14, 50, kept.turn_id)]


def contents(controller: ChatController) -> list[str]:
    return [turn.content for turn in controller.conversation.turns]


def test_versions_of_a_reply_can_be_leafed_through(qtbot: QtBot, ready: ChatController) -> None:
    first = converse(qtbot, ready, "count 3")
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS) as blocker:
        ready.regenerate()
    second = blocker.args[1]
    assert (second.version, second.num_versions) == (2, 2)
    with qtbot.waitSignal(ready.conversation_opened, timeout=TIMEOUT_MS):
        ready.show_version(second.turn_id, -1)
    shown = ready.conversation.turns[-1]
    assert (shown.turn_id, shown.version, shown.num_versions) == (first.turn_id, 1, 2)


def test_editing_a_message_asks_anew_and_keeps_the_old_branch(
    qtbot: QtBot, ready: ChatController
) -> None:
    converse(qtbot, ready, "count 1")
    converse(qtbot, ready, "count 2")
    first = ready.conversation.turns[0]
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS):
        ready.edit(first.turn_id, "count 4")
    assert contents(ready) == ["count 4", counted(4)]
    ready.show_version(ready.conversation.turns[0].turn_id, -1)
    assert contents(ready) == ["count 1", counted(1), "count 2", counted(2)]


def test_nothing_is_edited_or_leafed_through_while_a_reply_runs(
    qtbot: QtBot, ready: ChatController
) -> None:
    converse(qtbot, ready, "count 3")
    first = ready.conversation.turns[0]
    with qtbot.waitSignal(ready.text_appended, timeout=TIMEOUT_MS):
        ready.send("forever")
    ready.edit(first.turn_id, "other")
    ready.show_version(first.turn_id, 1)
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS):
        ready.stop()
    assert contents(ready)[:3] == ["count 3", counted(3), "forever"]
    assert saved_turns(ready.conversation.conversation_id)[0][1] == "count 3"


def test_a_version_that_is_refused_leaves_the_one_before(
    qtbot: QtBot, ready: ChatController
) -> None:
    converse(qtbot, ready, "count 3")
    with qtbot.waitSignal(ready.reply_failed, timeout=TIMEOUT_MS):
        ready.edit(ready.conversation.turns[0].turn_id, "fail")
    assert contents(ready) == ["fail"]
    with qtbot.waitSignal(ready.reply_failed, timeout=TIMEOUT_MS):
        ready.regenerate()
    assert contents(ready) == ["fail"]
    ready.show_version(ready.conversation.turns[0].turn_id, -1)
    assert contents(ready) == ["count 3", counted(3)]


def test_a_reply_goes_on_where_it_ended(qtbot: QtBot, ready: ChatController) -> None:
    first = converse(qtbot, ready, "count 3")
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS) as blocker:
        ready.continue_reply()
        assert ready.reply_text == counted(3)
    whole = blocker.args[1]
    assert whole.turn_id == first.turn_id
    assert whole.content == counted(3) + "more than '0 1 2 '"
    assert first.stats
    assert whole.stats
    assert whole.stats.completion_tokens > first.stats.completion_tokens
    assert saved_turns(ready.conversation.conversation_id)[-1] == (
        "assistant",
        whole.content,
        False,
    )


def test_what_was_found_in_another_version_opens_that_one(
    qtbot: QtBot, ready: ChatController
) -> None:
    converse(qtbot, ready, "count 1")
    ready.edit(ready.conversation.turns[0].turn_id, "count 2")
    qtbot.waitUntil(lambda: ready.replying_conversation_id is None, timeout=TIMEOUT_MS)
    conversation_id = ready.conversation.conversation_id
    ready.open_conversation(conversation_id)
    assert contents(ready)[0] == "count 2"
    ready.rename_conversation(conversation_id, "another title")  # it was that of the first version
    ready.open_conversation(conversation_id, "COUNT 1")
    assert contents(ready)[0] == "count 1"
