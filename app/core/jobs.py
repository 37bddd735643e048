"""Cancelling long work: one token, looked at once per step or tensor."""

from __future__ import annotations

import threading

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
