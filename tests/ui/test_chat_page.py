"""The Chat page binds the controller: what it shows in every state, and the ways out of trouble."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from app.chat.transcript import Turn
from app.controllers.chat import ChatController
from app.controllers.chat_state import ChatState
from app.core.errors import ChatStoreError
from app.core.events import ErrorInfo, LoadedModel
from app.core.paths import settings_path
from app.core.sampling_settings import SamplingSettings
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.hub.library import LibraryEntry
from app.ui.pages.chat_page import ChatPage

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
ENTRY = LibraryEntry("Tiny-1B", Path("/library/Tiny-1B"), "Llama", "gguf", "t", 1, 700 << 20, True)


def model(*, has_chat_template: bool = True) -> LoadedModel:
    return LoadedModel(
        name="Tiny-1B",
        model_dir=ENTRY.path,
        architecture="LlamaForCausalLM",
        device="cpu",
        device_note="No NVIDIA driver found.",
        max_model_len=8192,
        weights_bytes=1,
        kv_bytes_per_token=1,
        load_s=0.1,
        has_chat_template=has_chat_template,
    )


@pytest.fixture
def page(program: Program) -> ChatPage:
    return program.window.chat_page


@pytest.fixture
def chat(program: Program) -> ChatController:
    return program.controllers.chat


def texts(page: ChatPage) -> str:
    shown = [w for w in page.findChildren(QLabel) if w.isVisible()]
    buttons = [w for w in page.findChildren(QPushButton) if w.isVisible()]
    return "\n".join(widget.text() for widget in (*shown, *buttons))


def banner_texts(page: ChatPage) -> list[str]:
    return [banner.text for banner in page.banners.banners]


def set_state(
    monkeypatch: pytest.MonkeyPatch,
    chat: ChatController,
    state: ChatState,
    model_: LoadedModel | None,
) -> None:
    monkeypatch.setattr(type(chat), "state", property(lambda _self: state))
    monkeypatch.setattr(type(chat), "model", property(lambda _self: model_))
    chat.state_changed.emit(state)


def test_first_run_offers_the_starter(qtbot: QtBot, page: ChatPage) -> None:
    qtbot.waitUntil(lambda: "Use the starter model" in texts(page), timeout=20_000)
    assert "Drop a .gguf file anywhere" in texts(page)
    assert "Choose a model first" in page.composer.edit.placeholderText()


def test_library_is_offered(qtbot: QtBot, page: ChatPage) -> None:
    page.set_entries([ENTRY])
    qtbot.waitUntil(lambda: "Tiny-1B    700 MiB" in texts(page), timeout=20_000)
    button = next(b for b in page.empty.findChildren(QPushButton) if "Tiny-1B" in b.text())
    with qtbot.waitSignal(page.model_requested) as blocker:
        button.click()
    assert blocker.args == [ENTRY.path]


@pytest.mark.parametrize(
    ("state", "can_send", "is_running", "placeholder"),
    [
        (ChatState.UNLOADED, False, False, "Choose a model"),
        (ChatState.LOADING, False, False, "loading"),
        (ChatState.READY, True, False, "Message Tiny-1B"),
        (ChatState.GENERATING, False, True, "meanwhile"),
        (ChatState.DOWN, False, False, "restart"),
    ],
)
def test_composer_follows_the_engine(
    page: ChatPage,
    chat: ChatController,
    monkeypatch: pytest.MonkeyPatch,
    state: ChatState,
    can_send: bool,
    is_running: bool,
    placeholder: str,
) -> None:
    page.composer.set_text("hello")
    set_state(monkeypatch, chat, state, model())
    assert page.composer.send_button.isEnabled() is can_send
    assert page.composer.stop_button.isVisible() is is_running
    assert placeholder in page.composer.edit.placeholderText()


def test_model_and_its_context_are_shown(
    qtbot: QtBot, page: ChatPage, chat: ChatController, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_state(monkeypatch, chat, ChatState.READY, model())
    for expected in ("8,192 tokens of context", "CPU", "Tiny-1B is ready"):
        qtbot.waitUntil(lambda expected=expected: expected in texts(page), timeout=20_000)
    assert "Tiny-1B" in page.top_bar.picker.text()
    assert "Tiny-1B" in page.top_bar.picker.accessibleName()


def test_model_without_template_is_announced(page: ChatPage, chat: ChatController) -> None:
    chat.model_loaded.emit(model(has_chat_template=False))
    assert "no chat template" in banner_texts(page)[0]
    chat.model_loaded.emit(model())
    assert banner_texts(page) == []


def test_failed_load_stays_until_a_load_works(page: ChatPage, chat: ChatController) -> None:
    chat.failed.emit(ErrorInfo("CheckpointError", "layer_00 is damaged.", "sha256"))
    assert banner_texts(page) == ["layer_00 is damaged."]
    chat.model_loaded.emit(model())
    assert banner_texts(page) == []


def test_failed_reply_can_be_asked_for_again(
    page: ChatPage, chat: ChatController, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[None] = []
    monkeypatch.setattr(chat, "regenerate", lambda: asked.append(None))
    conversation_id = chat.conversation.conversation_id
    chat.turn_added.emit(conversation_id, Turn(1, "user", "question", NOW))
    chat.reply_started.emit(conversation_id)
    chat.reply_failed.emit(conversation_id, ErrorInfo("ContextLengthError", "Too long."))
    assert [card.text for card in page.transcript.cards] == ["question"]
    found = page.banners.banners[0].findChildren(QPushButton)
    next(button for button in found if button.text() == "Try again").click()
    assert asked == [None]
    assert banner_texts(page) == []


@pytest.mark.parametrize("goes_on", ["another conversation", "another reply"])
def test_a_failed_reply_is_told_until_something_else_is_done(
    page: ChatPage, chat: ChatController, goes_on: str
) -> None:
    conversation_id = chat.conversation.conversation_id
    chat.failed.emit(ErrorInfo("ChatStoreError", "The disk is full."))
    chat.reply_failed.emit(conversation_id, ErrorInfo("ContextLengthError", "Too long."))
    assert banner_texts(page) == ["The disk is full.", "Too long."]
    if goes_on == "another reply":
        chat.reply_started.emit(conversation_id)
    else:
        page.new_conversation()
    assert banner_texts(page) == ["The disk is full."]


def test_silent_engine_is_announced_and_forgiven(page: ChatPage, chat: ChatController) -> None:
    chat.worker_unresponsive.emit(12.0)
    assert "12 seconds" in banner_texts(page)[0]
    chat.worker_recovered.emit()
    assert banner_texts(page) == []


def test_signals_of_other_conversations_change_nothing(
    page: ChatPage, chat: ChatController
) -> None:
    chat.turn_added.emit("other", Turn(1, "user", "question", NOW))
    chat.reply_started.emit("other")
    chat.text_appended.emit("other", "text")
    chat.reply_finished.emit("other", Turn(2, "assistant", "text", NOW))
    assert page.transcript.cards == ()


def test_deleted_conversation_can_be_brought_back(program: Program, page: ChatPage) -> None:
    conversation_id = program.store.create_conversation("Title").conversation_id
    program.store.append_turn(conversation_id, "user", "question")
    page.conversations.delete_requested.emit(conversation_id)
    assert program.controllers.chat.list.conversations() == ()
    page.banners.banners[0].action_button.click()
    assert banner_texts(page) == []
    (row,) = program.controllers.chat.list.conversations()
    assert row.conversation_id == conversation_id


def test_a_conversation_that_cannot_be_deleted_is_not_called_deleted(
    program: Program, page: ChatPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_conversation_id: str) -> None:
        raise ChatStoreError("The disk is full.")

    monkeypatch.setattr(program.store, "delete_conversation", refuse)
    page.conversations.delete_requested.emit("any")
    (banner,) = page.banners.banners
    assert banner.text == "The disk is full."


def test_defaults_are_kept_for_new_conversations(page: ChatPage, chat: ChatController) -> None:
    sampling = SamplingSettings(temperature=1.1, top_k=30, top_p=0.8, max_tokens=512)
    page.panel.sampling.show_settings("Be brief.", sampling)
    page.panel.sampling.keep_requested.emit(False)
    assert SettingsStore(settings_path()).values.system_prompt == "Be brief."
    page.new_conversation()
    assert chat.conversation.system_prompt == "Be brief."
    assert chat.conversation.sampling == sampling
    assert page.panel.sampling.sampling == sampling


def menu_of(page: ChatPage) -> list[QAction]:
    button = next(b for b in page.panel.findChildren(QPushButton) if b.menu() is not None)
    return [action for action in button.menu().actions() if action.isVisible()]


def test_a_model_begins_with_what_is_kept_for_it(
    monkeypatch: pytest.MonkeyPatch, program: Program, page: ChatPage, chat: ChatController
) -> None:
    assert [action.text() for action in menu_of(page)] == ["With every model"]
    program.settings.update(temperature=0.3)
    set_state(monkeypatch, chat, ChatState.READY, model())
    chat.model_loaded.emit(model())
    assert chat.conversation.sampling.temperature == 0.3
    page.panel.sampling.show_settings("Be a pirate.", SamplingSettings(temperature=1.5))
    assert [action.text() for action in menu_of(page)] == ["With every model", "With Tiny-1B only"]
    menu_of(page)[1].trigger()
    page.new_conversation()
    value = chat.conversation
    assert (value.system_prompt, value.sampling.temperature) == ("Be a pirate.", 1.5)
    menu_of(page)[2].trigger()
    assert len(menu_of(page)) == 2
    page.new_conversation()
    value = chat.conversation
    assert (value.system_prompt, value.sampling.temperature) == ("", 0.3)


def test_settings_of_one_conversation_do_not_leak_into_the_next(
    page: ChatPage, chat: ChatController
) -> None:
    before = chat.conversation.conversation_id
    page.panel.sampling.show_settings("", SamplingSettings())
    field = page.panel.sampling.fields["temperature"]
    field.spin_box.setValue(1.9)
    page.new_conversation()
    assert chat.conversation.conversation_id != before
    assert chat.conversation.sampling.temperature == pytest.approx(0.7)
    assert page.panel.sampling.sampling.temperature == pytest.approx(0.7)
