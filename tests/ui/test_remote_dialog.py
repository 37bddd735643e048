"""Another server is tried, chosen and remembered in the real window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.controllers.chat_state import ChatState
from app.core.events import ErrorInfo
from app.core.paths import home_dir, settings_path
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.dialogs.remote_dialog import RemoteDialog
from tests.remote.fake_openai import KEY, FakeOpenAI
from tests.ui.window_support import running_program, texts

TIMEOUT_MS = 20_000


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI().running() as running:
        yield running


@pytest.fixture
def dialog(program: Program) -> RemoteDialog:
    picker = program.window.chat_page.top_bar.picker
    picker.menu().aboutToShow.emit()
    (action,) = [action for action in picker.menu().actions() if "Remote" in action.text()]
    action.trigger()
    found = program.window.findChild(RemoteDialog)
    assert found is not None
    return found


def test_a_server_is_tried_and_its_models_are_offered(
    qtbot: QtBot, program: Program, dialog: RemoteDialog, server: FakeOpenAI
) -> None:
    assert not dialog.connect_button.isEnabled()
    server.wants_key = True
    dialog.address.setText(server.base_url.removesuffix("/v1"))
    dialog.test_button.click()
    qtbot.waitUntil(lambda: "401" in dialog.status.text(), timeout=TIMEOUT_MS)
    dialog.key.edit.setText(KEY)
    dialog.test_button.click()
    qtbot.waitUntil(lambda: "Models: 2" in dialog.status.text(), timeout=TIMEOUT_MS)
    assert [action.text() for action in dialog.model.menu().actions()][1:] == ["big-70b", "small"]
    dialog.model.set_value("small")
    dialog.connect_button.click()
    wait_until_ready(qtbot, program)
    assert program.controllers.chat.model
    assert program.controllers.chat.model.name == "small"
    top_bar = program.window.chat_page.top_bar
    assert "REMOTE" in texts(top_bar)
    assert "tokens of context" not in texts(top_bar)  # it did not say
    program.window.chat_page.composer.set_text("say hello")
    program.window.chat_page.composer.submitted.emit("say hello")
    wait_until_ready(qtbot, program)
    cards = program.window.chat_page.transcript.cards
    qtbot.waitUntil(lambda: cards[-1].text == "hello ", timeout=TIMEOUT_MS)


@pytest.mark.parametrize("is_closed", [True, False])
def test_an_answer_is_not_taken_for_that_of_another_server(
    program: Program, dialog: RemoteDialog, server: FakeOpenAI, is_closed: bool
) -> None:
    remote = program.controllers.remote
    dialog.address.setText(server.base_url)
    dialog.test_button.click()
    question = remote._question
    assert question is not None
    if is_closed:
        dialog.reject()
    else:
        dialog.address.setText("http://another.example/v1")
    assert remote._question is None
    assert question.signalsBlocked(), "given up: whatever comes is not told"


def test_the_server_is_remembered_but_its_key_is_not_on_the_disk(
    qtbot: QtBot, server: FakeOpenAI
) -> None:
    with running_program() as first:
        first.controllers.remote.use(server.base_url, KEY, "")
        wait_until_ready(qtbot, first)
    files = [path for path in home_dir().rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    with running_program() as second:
        wait_until_ready(qtbot, second)
        assert second.controllers.chat.model
        assert second.controllers.chat.model.name == "big-70b"


def test_a_local_model_is_the_one_of_the_next_start_again(program: Program) -> None:
    SettingsStore(settings_path())
    program.settings.update(uses_remote=True)
    program.window.load_model(home_dir())
    assert not program.settings.values.uses_remote


def test_a_key_in_the_open_is_warned_of(dialog: RemoteDialog) -> None:
    dialog.address.setText("http://gpu-box:8000/v1")
    dialog.key.edit.setText(KEY)
    assert "unencrypted" in dialog.status.text()
    dialog.address.setText("https://gpu-box:8000/v1")
    assert dialog.status.text() == ""


def test_what_is_no_address_keeps_the_dialog_open(dialog: RemoteDialog) -> None:
    dialog.address.setText("ftp://box")
    dialog.connect_button.click()
    assert "is not the address of a server" in dialog.status.text()
    assert dialog.isVisible()


def wait_until_ready(qtbot: QtBot, program: Program) -> None:
    qtbot.waitUntil(lambda: program.controllers.chat.state is ChatState.READY, timeout=TIMEOUT_MS)


def test_on_a_low_screen_it_scrolls_and_keeps_its_buttons(
    monkeypatch: pytest.MonkeyPatch, dialog: RemoteDialog
) -> None:
    """All that a screen of 1366 x 768 leaves at 200 %."""
    assert dialog.area.verticalScrollBar().maximum() == 0, "here it fits"
    monkeypatch.setattr(dialog, "room", lambda: QRect(0, 40, 683, 300))
    dialog.fit()
    for _ in range(5):
        QApplication.processEvents()
    assert dialog.height() <= 300
    assert dialog.area.verticalScrollBar().maximum() > 0
    bottom = dialog.connect_button.mapTo(dialog, dialog.connect_button.rect().bottomLeft())
    assert bottom.y() < dialog.height()


def test_it_grows_with_what_it_says(dialog: RemoteDialog) -> None:
    before = dialog.height()
    dialog._on_failed(ErrorInfo("RemoteError", "It refused, " + "at length, " * 40))
    for _ in range(5):
        QApplication.processEvents()
    assert dialog.height() > before
    assert dialog.area.verticalScrollBar().maximum() == 0
