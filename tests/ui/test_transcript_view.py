"""Turns on screen: bubbles, replies, following, paging."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from app.chat.transcript import Turn, TurnStats
from app.core.events import PrefillProgressed
from app.ui.markdown_blocks import Block
from app.ui.widgets.context_mark import ContextMark
from app.ui.widgets.markdown_view import MarkdownView
from app.ui.widgets.reply_card import ReplyCard, describe_reply
from app.ui.widgets.transcript_view import TranscriptView
from app.ui.widgets.user_card import UserCard

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
STATS = TurnStats("stop", 40, 32, 96, 0.21, 41.34)


@pytest.fixture
def view(qtbot: QtBot) -> TranscriptView:
    widget = TranscriptView()
    qtbot.addWidget(widget)
    widget.resize(700, 500)
    widget.show()
    return widget


def user(turn_id: int, text: str = "question") -> Turn:
    return Turn(turn_id, "user", text, NOW)


def reply(turn_id: int, text: str = "answer") -> Turn:
    return Turn(turn_id, "assistant", text, NOW, "Tiny", STATS)


def is_at_end(view: TranscriptView) -> bool:
    bar = view.verticalScrollBar()
    return bar.maximum() > 0 and bar.value() == bar.maximum()


def test_turns_are_shown_as_they_were_said(view: TranscriptView) -> None:
    view.show_turns([user(1, "*not* Markdown"), reply(2, "*Markdown*")])
    first, second = view.cards
    assert isinstance(first, UserCard)
    assert first.text == "*not* Markdown"
    assert isinstance(second, ReplyCard)
    assert second.text == "*Markdown*"


def test_statistics_of_a_reply() -> None:
    shown = "41.3 tok/s  ·  first token 0.2 s  ·  96 tokens (prompt 40, 32 of them cached)"
    assert describe_reply(reply(1)) == shown


@pytest.mark.parametrize(
    ("finish_reason", "label"),
    [("length", "length limit"), ("cancelled", "stopped by you"), ("of_a_newer_version",) * 2],
)
def test_statistics_say_why_a_reply_ended(finish_reason: str, label: str) -> None:
    stats = TurnStats(finish_reason, 1, 0, 1, 0.1, 0.0)
    assert label in describe_reply(Turn(1, "assistant", "x", NOW, "Tiny", stats))


def test_interrupted_reply_says_so() -> None:
    assert "interrupted" in describe_reply(Turn(1, "assistant", "x", NOW, is_interrupted=True))


def test_reply_streams_and_finishes(qtbot: QtBot, view: TranscriptView) -> None:
    view.add_turn(user(1))
    view.begin_reply("Tiny")
    view.show_prefill(PrefillProgressed("r", 512, 2048, 0))
    labels = [label.text() for label in view.cards[1].findChildren(QLabel)]
    assert any("512" in text and "2,048" in text for text in labels)
    view.show_prefill(PrefillProgressed("r", 1024, 2048, 0), 1499.6)
    labels = [label.text() for label in view.cards[1].findChildren(QLabel)]
    assert "Reading the prompt… 1,024 of 2,048 tokens, 1,500 tok/s" in labels
    view.append_text("ans")
    view.append_text("wer")
    view.finish_reply(reply(2))
    card = view.cards[1]
    assert card.text == "answer"
    assert card.turn_id == 2


def test_failed_reply_leaves_no_card(view: TranscriptView) -> None:
    view.add_turn(user(1))
    view.begin_reply("Tiny")
    view.drop_reply()
    assert [card.turn_id for card in view.cards] == [1]


def test_only_the_last_reply_can_be_made_again(view: TranscriptView) -> None:
    view.show_turns([user(1), reply(2), user(3), reply(4)])
    can = [card.can_regenerate for card in view.cards if isinstance(card, ReplyCard)]
    assert can == [False, True]


def test_view_follows_the_newest_text(qtbot: QtBot, view: TranscriptView) -> None:
    view.show_turns([user(1)])
    view.begin_reply("Tiny")
    for number in range(40):
        view.append_text(f"paragraph {number}\n\n")
    qtbot.waitUntil(lambda: "paragraph 39" in view.cards[-1].body.text, timeout=10_000)
    qtbot.waitUntil(lambda: is_at_end(view), timeout=10_000)
    assert view.verticalScrollBar().maximum() > 0


def test_scrolling_up_ends_following_and_the_button_resumes_it(
    qtbot: QtBot, view: TranscriptView
) -> None:
    view.show_turns([reply(number, "text\n\n" * 20) for number in range(3)])
    qtbot.waitUntil(lambda: is_at_end(view), timeout=10_000)
    view.verticalScrollBar().setValue(0)
    place = view.end_button.geometry()
    assert abs(place.left() + place.right() + 1 - view.width()) <= 1  # in the middle
    assert place.bottom() < view.height()
    view.begin_reply("Tiny")
    view.verticalScrollBar().setValue(0)
    view.append_text("more\n\n" * 30)
    qtbot.waitUntil(lambda: "more" in view.cards[-1].body.text, timeout=10_000)
    qtbot.wait(100)
    assert view.verticalScrollBar().value() == 0
    view.end_button.click()
    qtbot.waitUntil(lambda: is_at_end(view), timeout=10_000)


def test_long_conversations_come_in_pages(qtbot: QtBot, view: TranscriptView) -> None:
    def is_shown(first: int) -> bool:
        return [card.text for card in view.cards] == [str(n) for n in range(first, 70)]

    view.show_turns([user(number, str(number)) for number in range(70)])
    assert view.cards[-1].text == "69"
    qtbot.waitUntil(lambda: is_shown(40), timeout=10_000)
    button = next(b for b in view.findChildren(QPushButton) if "earlier" in b.text())
    button.click()
    button.click()
    qtbot.waitUntil(lambda: is_shown(0), timeout=10_000)
    assert button.isHidden()


def test_what_is_looked_at_stays_while_earlier_turns_are_built(
    qtbot: QtBot, view: TranscriptView
) -> None:
    long_text = "\n\n".join(f"paragraph {number} " + "of words " * 30 for number in range(8))
    view.show_turns([reply(number, f"{number} {long_text}") for number in range(20)])
    qtbot.waitUntil(lambda: view.verticalScrollBar().maximum() > 2000, timeout=10_000)
    QApplication.processEvents()
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() - 300)
    from_end = bar.maximum() - bar.value()
    assert len(view.cards) < 20
    qtbot.waitUntil(lambda: len(view.cards) == 20 and not view._settling.isActive(), timeout=60_000)
    QApplication.processEvents()
    assert bar.maximum() - bar.value() == from_end


def test_a_long_conversation_is_opened_without_blocking_the_loop(
    qtbot: QtBot, view: TranscriptView, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    original = MarkdownView._draw_block

    def draw_block(body: MarkdownView, block: Block) -> None:
        drawn.append(len(block.text))
        original(body, block)

    monkeypatch.setattr(MarkdownView, "_draw_block", draw_block)
    section = "Some words.\n\n" * 20 + "```python\nx = 1\n```\n\n" + "- item\n" * 30 + "\n"
    text = section * 40
    view.show_turns([turn for n in range(100) for turn in (user(2 * n), reply(2 * n + 1, text))])
    at_once = sum(drawn)
    assert 0 < at_once < 4 * 4000
    assert view.cards[-1].text == text
    view.cards[-1].body._work.finish()
    assert sum(drawn) - at_once > 10_000


def test_reply_is_copied_as_markdown(view: TranscriptView) -> None:
    view.show_turns([reply(1, "**bold**")])
    view.cards[0].copy_button.click()
    assert QApplication.clipboard().text() == "**bold**"


def test_an_edited_message_is_asked_again(qtbot: QtBot, view: TranscriptView) -> None:
    view.show_turns([user(1, "question"), reply(2)])
    view.set_can_ask(True)
    card = view.cards[0]
    assert isinstance(card, UserCard)
    card.edit_button.click()
    assert (card.editor.toPlainText(), card.editor.isVisibleTo(card)) == ("question", True)
    qtbot.keyClicks(card.editor, " of life")
    with qtbot.waitSignal(view.edited) as blocker:
        qtbot.keyClick(card.editor, Qt.Key.Key_Return)
    assert blocker.args == [1, "question of life"]
    assert not card.editor.isVisibleTo(card)


def test_editing_can_be_given_up(qtbot: QtBot, view: TranscriptView) -> None:
    view.show_turns([user(1, "question")])
    card = view.cards[0]
    assert isinstance(card, UserCard)
    card.begin_editing()
    qtbot.keyClicks(card.editor, " of life")
    with qtbot.assertNotEmitted(view.edited):
        qtbot.keyClick(card.editor, Qt.Key.Key_Return)  # nobody can answer now
        assert card.editor.isVisibleTo(card)
        qtbot.keyClick(card.editor, Qt.Key.Key_Escape)
    assert (card.text, card.editor.isVisibleTo(card)) == ("question", False)


def test_versions_are_counted_and_can_be_leafed_through(qtbot: QtBot, view: TranscriptView) -> None:
    turns = [replace(user(1), version=2, num_versions=2), replace(reply(2), num_versions=3)]
    view.show_turns(turns)
    first, second = (card.versions for card in view.cards)
    assert [switch.label.text() for switch in (first, second)] == ["2 / 2", "1 / 3"]
    assert (first.earlier_button.isEnabled(), first.later_button.isEnabled()) == (True, False)
    assert (second.earlier_button.isEnabled(), second.later_button.isEnabled()) == (False, True)
    with qtbot.waitSignal(view.version_requested) as blocker:
        second.later_button.click()
    assert blocker.args == [2, 1]


def test_a_single_version_has_no_switch(view: TranscriptView) -> None:
    view.show_turns([user(1), reply(2)])
    assert [card.versions.isVisible() for card in view.cards] == [False, False]


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_thoughts_are_folded_while_they_stream(view: TranscriptView, size: int) -> None:
    text = "<think>\nfirst this, then that\n</think>\n\nthe *answer*"
    view.begin_reply("Tiny")
    card = view.cards[0]
    assert isinstance(card, ReplyCard)
    for start in range(0, len(text), size):
        view.append_text(text[start : start + size])
        assert "<" not in card.body.text + card.thoughts.thought
    assert (card.thoughts.thought, card.body.text) == ("first this, then that", "the *answer*")
    view.finish_reply(reply(1, text))
    assert (card.text, card.body.text) == (text, "the *answer*")
    assert card.thoughts.section.button.text() == "Thoughts, 4 words"
    assert not card.thoughts.section.content.isVisibleTo(card)
    card.copy_button.click()
    assert QApplication.clipboard().text() == "the *answer*"


def test_thoughts_whose_opening_the_prompt_had_leave_the_answer(view: TranscriptView) -> None:
    view.begin_reply("Tiny")
    card = view.cards[0]
    assert isinstance(card, ReplyCard)
    for piece in ("I think", " so.", "</thi", "nk>\n\nYes", "."):
        view.append_text(piece)
    assert (card.thoughts.thought, card.body.text) == ("I think so.", "Yes.")


def test_a_reply_without_thoughts_has_no_section(view: TranscriptView) -> None:
    view.show_turns([reply(1, "plain")])
    card = view.cards[0]
    assert isinstance(card, ReplyCard)
    assert not card.thoughts.isVisibleTo(card)


def test_a_line_stands_above_the_first_turn_that_the_model_sees(view: TranscriptView) -> None:
    view.show_turns([user(1), reply(2), user(3), reply(4)])
    mark = view.findChild(ContextMark)

    def position() -> int:
        assert mark is not None
        QApplication.processEvents()
        return sum(card.y() < mark.y() for card in view.cards) if mark.isVisible() else 0

    assert position() == 0
    view.mark_context(3)
    assert position() == 2
    view.mark_context(4)
    assert position() == 3
    view.mark_context(None)
    assert position() == 0
    view.mark_context(-1)  # the message that is being written: nothing of all this is seen
    assert position() == 4
    view.add_turn(user(5))
    assert position() == 4
    view.mark_context(3)
    view.show_turns([user(5)])
    assert position() == 0
    view.mark_context(None)
    view.show_turns([])
    view.mark_context(-1)
    assert position() == 0


def test_no_line_stands_above_a_reply_that_streams(view: TranscriptView) -> None:
    view.show_turns([user(1)])
    view.begin_reply("model")
    view.mark_context(None)  # measured while the next message is written: everything fits
    mark = view.findChild(ContextMark)
    assert mark is not None
    assert not mark.isVisible()
