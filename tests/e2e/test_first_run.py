"""The first run: from an empty home to a reply of the starter model in three clicks."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QWidget
from pytestqt.qtbot import QtBot

from app.controllers.chat_state import ChatState
from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.machine_labels import advice
from app.ui.widgets.reply_card import ReplyCard
from tests.ui.window_support import TIMEOUT_MS, running_program, texts


class Mouse:
    """Presses buttons where they are seen, and counts."""

    def __init__(self, window: QWidget) -> None:
        self._window, self.num_clicks = window, 0

    def click(self, text: str) -> None:
        buttons = self._window.findChildren(QAbstractButton)
        names = [(button, button.text() or button.accessibleName()) for button in buttons]
        (button,) = [b for b, name in names if name.startswith(text) and b.isVisible()]
        assert button.isEnabled()
        place = button.mapTo(self._window, button.rect().center())
        assert self._window.childAt(QPoint(place)) is button
        self.num_clicks += 1
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.mark.slow
def test_three_clicks_lead_from_the_first_window_to_a_reply(
    qtbot: QtBot, starter_gguf: Path
) -> None:
    SettingsStore(settings_path()).update(temperature=0.0, max_tokens=24)
    with running_program(looks_at_machine=True) as program:
        mouse, chat = Mouse(program.window), program.controllers.chat
        wait_for_machine(qtbot, program)
        mouse.click("Use the starter model")
        qtbot.waitUntil(lambda: chat.state is ChatState.READY, timeout=TIMEOUT_MS)
        qtbot.waitUntil(program.window.chat_page.empty.isVisible, timeout=TIMEOUT_MS)
        mouse.click("Explain why the sky is blue")
        mouse.click("Send")
        qtbot.waitUntil(lambda: is_answered(program), timeout=TIMEOUT_MS)
        assert mouse.num_clicks == 3
        assert program.window.chat_page.isVisible()


def wait_for_machine(qtbot: QtBot, program: Program) -> None:
    machine, page = program.controllers.machine, program.window.chat_page
    qtbot.waitUntil(lambda: machine.report is not None, timeout=TIMEOUT_MS)
    assert machine.report is not None
    assert advice(machine.report) in texts(page.empty)


def is_answered(program: Program) -> bool:
    card = program.window.chat_page.transcript.cards[-1]
    is_idle = program.controllers.chat.state is ChatState.READY
    return isinstance(card, ReplyCard) and is_idle and len(card.text) > 20
