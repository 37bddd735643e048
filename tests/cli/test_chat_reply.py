"""Ctrl+C ends a reply and not the conversation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.cli.reply import Reply
from app.core.errors import ContextLengthError
from app.core.events import (
    ErrorInfo,
    Event,
    FinishReason,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    Usage,
)
from app.engine.request_handle import RequestHandle

_USAGE = Usage(prompt_tokens=3, cached_tokens=0, completion_tokens=2, ttft_s=0.1, decode_s=0.5)


class _InterruptedHandle(RequestHandle):
    """Ctrl+C strikes while the second event is awaited; a cancel is answered as the engine does."""

    def __init__(self) -> None:
        super().__init__("r", self._answer_cancel)
        self._is_struck = False
        self.put(TokensGenerated("r", (7,), "Hel"))

    def __iter__(self) -> Iterator[Event]:
        events = super().__iter__()
        yield next(events)
        if not self._is_struck:
            self._is_struck = True
            raise KeyboardInterrupt
        yield from events

    def _answer_cancel(self, request_id: str) -> None:
        self.put(TokensGenerated(request_id, (8,), "lo"))
        self.put(RequestFinished(request_id, FinishReason.CANCELLED, _USAGE))


def test_what_was_said_before_the_interrupt_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    completion = Reply(_InterruptedHandle()).play_until_stopped()
    assert (completion.text, completion.token_ids) == ("Hello", (7, 8))
    assert completion.finish_reason is FinishReason.CANCELLED
    captured = capsys.readouterr()
    assert captured.out == "Hello\n"
    assert "ended by cancelled" in captured.err


def test_a_single_reply_ends_the_program() -> None:
    with pytest.raises(KeyboardInterrupt):
        Reply(_InterruptedHandle()).play()


def test_a_failed_request_raises_its_own_error() -> None:
    handle = RequestHandle("r", lambda _id: None)
    handle.put(RequestFailed("r", ErrorInfo.from_exception(ContextLengthError("Too long."))))
    with pytest.raises(ContextLengthError, match=r"Too long\."):
        Reply(handle).play()
