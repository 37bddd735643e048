"""The button of a message takes it out of the conversation; the banner brings it back."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.gui import Program
from app.ui.widgets.user_card import UserCard

TOLD = ("q1", "a1", "q2", "a2")


@pytest.fixture
def conversation_id(program: Program) -> str:
    opened = program.store.create_conversation("four turns").conversation_id
    for number, content in enumerate(TOLD):
        role = "assistant" if number % 2 else "user"
        program.store.append_turn(opened, role, content)
    program.controllers.chat.open_conversation(opened)
    return opened


def shown(program: Program) -> list[str]:
    return [card.text for card in program.window.chat_page.transcript.cards]


@pytest.mark.parametrize("position", range(4))
def test_a_turn_is_deleted_and_undone(
    qtbot: QtBot, program: Program, conversation_id: str, position: int
) -> None:
    page, chat = program.window.chat_page, program.controllers.chat
    qtbot.waitUntil(lambda: shown(program) == list(TOLD))
    page.transcript.cards[position].delete_button.click()
    rest = [content for number, content in enumerate(TOLD) if number != position]
    qtbot.waitUntil(lambda: shown(program) == rest)
    assert [turn.content for turn in chat.conversation.turns] == rest
    (banner,) = page.banners.banners
    assert banner.text == "The message was deleted."
    banner.action_button.click()
    qtbot.waitUntil(lambda: shown(program) == list(TOLD))
    assert [turn.content for turn in chat.conversation.turns] == list(TOLD)
    assert page.banners.banners == ()


def test_undo_from_another_conversation_leaves_that_alone(
    qtbot: QtBot, program: Program, conversation_id: str
) -> None:
    page, chat = program.window.chat_page, program.controllers.chat
    qtbot.waitUntil(lambda: shown(program) == list(TOLD))
    page.transcript.cards[0].delete_button.click()
    page.new_conversation()
    page.banners.banners[0].action_button.click()
    assert shown(program) == []
    turns = program.store.load_conversation(conversation_id).turns
    assert [turn.content for turn in turns] == list(TOLD)
    assert chat.conversation.turns == ()


def test_nothing_goes_while_a_reply_is_written(
    qtbot: QtBot, program: Program, conversation_id: str
) -> None:
    transcript = program.window.chat_page.transcript
    qtbot.waitUntil(lambda: shown(program) == list(TOLD))
    transcript.begin_reply("SmolLM2")
    assert not any(card.delete_button.isEnabled() for card in transcript.cards)
    transcript.drop_reply()
    assert all(card.delete_button.isEnabled() for card in transcript.cards)


def test_a_short_message_stays_on_one_line_at_any_size_of_text(
    qtbot: QtBot, program: Program, conversation_id: str
) -> None:
    """Its bubble grows with the text; it was as wide as before, and broke the line."""
    program.store.append_turn(conversation_id, "user", "What is the password?")
    program.controllers.chat.open_conversation(conversation_id)
    card = program.window.chat_page.transcript.cards[-1]
    assert isinstance(card, UserCard)
    spacing = card._text.fontMetrics().lineSpacing()
    for _ in range(3):
        program.window.appearance.zoom(1)
    qtbot.waitUntil(lambda: card._text.fontMetrics().lineSpacing() > spacing)
    qtbot.waitUntil(lambda: card._text.height() < 1.6 * card._text.fontMetrics().lineSpacing())
