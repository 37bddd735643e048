"""Writing: Enter, Shift+Enter, Esc and input methods."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QInputMethodEvent, QPaintEvent, QRegion
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.widgets import composer as composer_module
from app.ui.widgets.composer import Composer


@pytest.fixture
def composer(qtbot: QtBot) -> Composer:
    widget = Composer()
    qtbot.addWidget(widget)
    widget.set_state(can_send=True, is_running=False, placeholder="")
    widget.show()
    return widget


@pytest.fixture
def sent(composer: Composer) -> list[str]:
    texts: list[str] = []
    composer.submitted.connect(texts.append)
    return texts


def compose(composer: Composer, preedit: str, commit: str = "") -> None:
    event = QInputMethodEvent(preedit, [])
    if commit:
        event.setCommitString(commit)
    QApplication.sendEvent(composer.edit, event)


def test_enter_sends(qtbot: QtBot, composer: Composer, sent: list[str]) -> None:
    qtbot.keyClicks(composer.edit, "hello")
    qtbot.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == ["hello"]
    assert composer.edit.toPlainText() == "hello", "kept until the page took it"


def test_shift_enter_breaks_the_line_and_the_field_grows(
    qtbot: QtBot, composer: Composer, sent: list[str]
) -> None:
    height = composer.edit.height()
    qtbot.keyClicks(composer.edit, "a")
    qtbot.keyClick(composer.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(composer.edit, "b")
    assert composer.edit.toPlainText() == "a\nb"
    assert composer.edit.height() > height
    assert sent == []


def test_enter_while_composing_does_not_send(
    qtbot: QtBot, composer: Composer, sent: list[str]
) -> None:
    compose(composer, "ni hao")
    qtbot.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == []


def test_enter_that_commits_does_not_send_but_the_next_one_does(
    qtbot: QtBot, composer: Composer, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(composer_module.time, "monotonic", lambda: clock[0])
    compose(composer, "ni hao")
    compose(composer, "", commit="你好")
    clock[0] += 0.01
    qtbot.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == [], "the echo of the committing key"
    clock[0] += 0.2
    qtbot.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == ["你好"]


@pytest.mark.parametrize("text", ["", "  \n "])
def test_blank_text_is_not_sent(
    qtbot: QtBot, composer: Composer, sent: list[str], text: str
) -> None:
    composer.set_text(text)
    qtbot.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == []
    assert not composer.send_button.isEnabled()


def test_nothing_is_sent_without_a_model(qtbot: QtBot, composer: Composer, sent: list[str]) -> None:
    composer.set_state(can_send=False, is_running=False, placeholder="Choose a model")
    composer.set_text("hello")
    qtbot.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == []
    assert composer.edit.toPlainText() == "hello"


class _PaintedRegion(QObject):
    """What of a widget was painted."""

    def __init__(self) -> None:
        super().__init__()
        self.region = QRegion()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.region = self.region.united(event.region())
        return False


def test_other_words_in_the_placeholder_are_painted(qtbot: QtBot, composer: Composer) -> None:
    composer.set_state(can_send=False, is_running=True, placeholder="Write meanwhile")
    qtbot.wait(50)
    painted, viewport = _PaintedRegion(), composer.edit.viewport()
    viewport.installEventFilter(painted)
    composer.set_state(can_send=False, is_running=True, placeholder="Message the model")
    qtbot.waitUntil(lambda: painted.region.boundingRect() == viewport.rect())
    assert composer.edit.placeholderText() == "Message the model"


def test_escape_and_button_stop_a_running_reply_only(qtbot: QtBot, composer: Composer) -> None:
    stops: list[None] = []
    composer.stop_requested.connect(lambda: stops.append(None))
    qtbot.keyClick(composer.edit, Qt.Key.Key_Escape)
    assert stops == []
    composer.set_state(can_send=False, is_running=True, placeholder="")
    assert composer.stop_button.isVisible()
    assert not composer.send_button.isVisible()
    qtbot.keyClick(composer.edit, Qt.Key.Key_Escape)
    qtbot.mouseClick(composer.stop_button, Qt.MouseButton.LeftButton)
    assert len(stops) == 2


def test_field_stops_growing(composer: Composer) -> None:
    composer.set_text("\n".join("line" for _ in range(8)))
    height = composer.edit.height()
    composer.set_text("\n".join("line" for _ in range(80)))
    assert composer.edit.height() == height


def test_the_meter_warns_before_the_context_is_full(qtbot: QtBot) -> None:
    composer = Composer()
    qtbot.addWidget(composer)
    for num_tokens, tone in ((10, "muted"), (3700, "warning"), (4096, "danger")):
        composer.show_context(num_tokens, 4096)
        assert composer.meter.property("tone") == tone
    assert composer.meter.text() == "4,096 of 4,096 tokens"
    composer.hide_context()
    assert composer.meter.text() == ""
