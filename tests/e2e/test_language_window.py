"""Another language in the middle of a real reply and a real conversion: both end as they would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.chat_state import ChatState
from app.controllers.conversion_job import ConversionState
from app.core.paths import library_dir, settings_path
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.widgets.reply_card import ReplyCard
from tests.ui.test_language_switch import switch
from tests.ui.window_support import TIMEOUT_MS, running_program, texts


@pytest.fixture
def program(qtbot: QtBot) -> Iterator[Program]:
    SettingsStore(settings_path()).update(temperature=0.0, max_tokens=160, language="en")
    with running_program() as running:
        yield running


@pytest.mark.slow
def test_a_reply_and_a_conversion_go_on(
    qtbot: QtBot, program: Program, starter_checkpoint: Path, starter_gguf: Path
) -> None:
    window, chat = program.window, program.controllers.chat
    window.load_model(starter_checkpoint)
    qtbot.waitUntil(lambda: chat.state is ChatState.READY, timeout=TIMEOUT_MS)
    window.chat_page.composer.submitted.emit("Write a story about a lighthouse keeper.")
    qtbot.waitUntil(lambda: len(chat.reply_text) > 20, timeout=TIMEOUT_MS)
    conversion = program.controllers.conversion
    window.convert([starter_gguf])
    qtbot.waitUntil(lambda: conversion.state is ConversionState.CONVERTING, timeout=TIMEOUT_MS)

    switch(program, "zh_CN")
    assert window.convert_page.progress.isVisible()
    assert window.convert_page.progress.pause_button.text() == "暂停"
    window.chat_page.composer.set_text("draft")
    switch(program, "en")
    switch(program, "zh_CN")

    qtbot.waitUntil(window.convert_page.report.isVisible, timeout=TIMEOUT_MS)
    assert "无损" in window.convert_page.report.badge.text()
    assert (library_dir() / starter_gguf.stem / "manifest.json").is_file()
    qtbot.waitUntil(lambda: chat.state is ChatState.READY, timeout=TIMEOUT_MS)
    card = window.chat_page.transcript.cards[-1]
    assert isinstance(card, ReplyCard)
    assert card.text == chat.conversation.turns[-1].content
    assert len(card.text) > 200
    assert "token" in card.stats_text
    assert window.chat_page.composer.edit.toPlainText() == "draft"
    assert "Memory" not in texts(window.chat_page.panel)
