"""Cancelling long work: one token, looked at once per step or block of rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from app.core.errors import JobCancelledError


class CancelToken:
    """A flag that any thread may set and the working thread looks at; never a forced stop."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Asks the work to stop at its next look."""
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody asked."""
        return self._event.is_set()

    def check(self) -> None:
        """Raises JobCancelledError when somebody asked."""
        if self._event.is_set():
            raise JobCancelledError


# A context variable, because the loops over rows lie deep below those who know the token: in
# readers of files, decoders of formats, the error search and the writer.
_TOKENS: ContextVar[tuple[CancelToken, ...]] = ContextVar("tokens", default=())


@contextmanager
def cancellable_by(*tokens: CancelToken) -> Iterator[None]:
    """Inside, on this thread, `check_cancelled` looks at these tokens."""
    before = _TOKENS.set(tokens)
    try:
        yield
    finally:
        _TOKENS.reset(before)


@contextmanager
def also_cancellable_by(token: CancelToken) -> Iterator[None]:
    """Inside, `check_cancelled` looks at this token beside those it looks at already."""
    with cancellable_by(*_TOKENS.get(), token):
        yield


def check_cancelled() -> None:
    """Raises JobCancelledError when the work that this thread does was cancelled."""
    for token in _TOKENS.get():
        token.check()
