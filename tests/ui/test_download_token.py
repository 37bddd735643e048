"""Tokens on the Download page: offered, saved, refused, and what goes on with them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.download import DownloadController
from app.controllers.hub import HubState
from app.core.download_events import TokenFailed, TokenTold
from app.core.events import ErrorInfo, Event, JobFailed, WorkerDied
from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.hub.download_queue import QueueState
from app.ui.pages.download_page import DownloadPage
from app.workers.commands import (
    Command,
    ForgetToken,
    LookUpRepository,
    SaveToken,
    UseToken,
)
from tests.ui.download_page import begin, remember_commands, tell, tell_hub
from tests.ui.window_support import texts

GATED = ErrorInfo(
    "HubAccessError",
    "org/name is gated: accept its terms at https://hub.example/org/name, then give the program "
    "(or HF_TOKEN) a token of that account, made at https://hub.example/settings/tokens.",
)
FULL = ErrorInfo("ResourceError", "No space left on device.")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Command]:
    """Commands to workers, which are not started."""
    return remember_commands(monkeypatch)


@pytest.fixture
def controller(qtbot: QtBot, sent: list[Command]) -> Iterator[DownloadController]:
    made = DownloadController(SettingsStore(settings_path()))
    yield made
    made.shutdown()


@pytest.fixture
def page(qtbot: QtBot, controller: DownloadController) -> DownloadPage:
    widget = DownloadPage(controller)
    qtbot.addWidget(widget)
    widget.resize(1000, 900)
    widget.show()
    return widget


def test_a_gate_offers_its_links_and_a_token(
    page: DownloadPage, controller: DownloadController, sent: list[Command]
) -> None:
    controller.hub.submit("org/name")
    controller.hub._link.event_received.emit(JobFailed(GATED))
    assert page.token.isVisible()
    assert "Token for hub.example" in texts(page)
    page.token.edit.setText(" hf_secret ")
    page.token.save_button.click()
    save = SaveToken("https://hub.example", "hf_secret")
    assert sent[-1] == save
    assert "hf_secret" not in repr(sent), "commands may be logged"
    tell_hub(controller, TokenTold("https://hub.example", "none"))  # as was asked before
    assert sent[-1] == save
    tell_hub(controller, TokenTold("https://hub.example", "keyring"))
    assert sent[-1] == LookUpRepository("org/name"), "and tries again"
    page.token.show_for("https://hub.example")
    tell_hub(controller, TokenTold("https://hub.example", "keyring"))
    page.token.forget_button.click()
    assert sent[-1] == ForgetToken("https://hub.example")


def test_without_a_keyring_a_token_lives_with_the_window(
    page: DownloadPage, controller: DownloadController, sent: list[Command]
) -> None:
    page._show_token("https://hub.example")
    controller.hub.save_token("https://hub.example", "hf_secret")
    tell_hub(controller, TokenTold("https://hub.example", "none"))  # as was asked before
    tell_hub(controller, TokenTold("https://hub.example", "session"))
    assert "keyring cannot be used: the token is kept until the program ends" in texts(page)
    begin(controller)
    assert UseToken("https://hub.example", "hf_secret") in sent[-2:], "the other process has it"
    controller.hub.forget_token("https://hub.example")
    assert controller.hub.session_tokens == ()


def test_a_token_lets_a_download_go_on(page: DownloadPage, controller: DownloadController) -> None:
    begin(controller)
    tell(controller, JobFailed(GATED))
    assert page.token.isVisible()
    page.token.edit.setText("hf_secret")
    page.token.save_button.click()
    tell_hub(controller, TokenTold("https://hub.example", "none"))  # as was asked before
    assert controller.entries[0].state is QueueState.FAILED
    tell_hub(controller, TokenTold("https://hub.example", "keyring"))
    assert controller.entries[0].state is QueueState.RUNNING


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (TokenFailed("https://hub.example", FULL), FULL.message),
        (WorkerDied(-9), "The process that asks the hub ended unexpectedly."),
    ],
)
def test_a_token_that_could_not_be_saved_is_told(
    page: DownloadPage, controller: DownloadController, sent: list[Command], end: Event, reason: str
) -> None:
    controller.hub.submit("org/name")
    tell_hub(controller, JobFailed(GATED))
    tell_hub(controller, TokenTold("https://hub.example", "none"))
    page.token.edit.setText("hf_secret")
    page.token.save_button.click()
    tell_hub(controller, end)
    assert f"The token could not be saved, forgotten or looked up: {reason}" in texts(page)
    assert sent[-1] == SaveToken("https://hub.example", "hf_secret"), "nothing is tried again"


def test_what_is_asked_of_a_token_does_not_end_a_look_up(
    page: DownloadPage, controller: DownloadController
) -> None:
    controller.hub.save_token("https://hub.example", "hf_secret")
    controller.hub.submit("org/name")
    tell_hub(controller, TokenFailed("https://hub.example", FULL))
    assert controller.hub.state is HubState.LOOKING
    assert page.looking.isVisible()


def test_a_token_survives_a_question_that_is_given_up(
    page: DownloadPage, controller: DownloadController, sent: list[Command]
) -> None:
    save = SaveToken("https://hub.example", "hf_secret")
    controller.hub.submit("org/slow")
    controller.hub.save_token("https://hub.example", "hf_secret")
    controller.hub.stop()  # ends the process, which may not have come to it
    assert sent == [LookUpRepository("org/slow"), save, save]
    tell_hub(controller, TokenTold("https://hub.example", "keyring"))
    controller.hub.submit("org/name")
    controller.hub.stop()
    assert sent[3:] == [LookUpRepository("org/name")]
