"""What the process that asks hubs answers about tokens, in this process."""

from __future__ import annotations

import queue

import pytest

from app.core.download_events import TokenFailed, TokenTold
from app.core.events import Event
from app.hub.token import TOKENS
from app.workers.commands import AskToken, Command, SaveToken, UseToken
from app.workers.hub_worker import create_service

HUB = "https://hub.example"
TIMEOUT_S = 60.0


def test_a_token_that_cannot_be_saved_is_told_of_its_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_endpoint: str, _token: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TOKENS, "save", refuse)
    failed = _ask(SaveToken(HUB, "hf_secret"))
    assert isinstance(failed, TokenFailed)
    assert failed.endpoint == HUB
    assert "No space left on device" in failed.error.message


def test_a_token_of_the_session_is_taken_without_an_answer() -> None:
    """Which would be taken for that of a question about the same hub."""
    try:
        assert _ask(UseToken(HUB, "hf_secret"), AskToken(HUB)) == TokenTold(HUB, "session")
    finally:
        TOKENS.use(HUB, "")


def _ask(*commands: Command) -> Event:
    """The one answer."""
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    service = create_service(events.put)
    for command in commands:
        service.handle(command)
    answer = events.get(timeout=TIMEOUT_S)
    service.close()
    assert events.empty()
    return answer
