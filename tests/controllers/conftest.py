"""Fake services importable by name, here and in child processes; garbage collected here alone."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.chat.store import ChatStore
from app.controllers.chat import ChatController
from app.core.paths import chats_path
from app.workers.commands import LoadModel
from tests.controllers.chatting import FAKE, MODEL, TIMEOUT_MS

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _garbage_on_this_thread() -> Iterator[None]:
    """As `GuiGarbageCollector` does in the program; a test is too short for its timer."""
    gc.disable()
    yield
    gc.collect()
    gc.enable()


@pytest.fixture
def chat(qtbot: QtBot) -> Iterator[ChatController]:
    """With a fake engine."""
    controller = ChatController(ChatStore.open(chats_path()), service=FAKE)
    yield controller
    controller.shutdown()


@pytest.fixture
def ready(qtbot: QtBot, chat: ChatController) -> ChatController:
    """With a model loaded."""
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.load(LoadModel(MODEL))
    return chat
