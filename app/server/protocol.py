"""HTTP/1.1 as uvicorn speaks it, with a limit of time for the headers.

uvicorn times idle connections between requests only: a client that sends half a header would keep
its connection for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# In a request's state: a function that drops its connection at once, unsent data too.
ABORT = "abort_connection"


def create_protocol_class(header_timeout_s: float) -> type[H11Protocol]:
    """What `uvicorn.Config(http=...)` takes."""

    class TimedProtocol(H11Protocol):
        """Closes a connection whose request's head is not complete in time."""

        _head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.app_state = {**self.app_state, ABORT: transport.abort}
            self._watch_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def _watch_head(self) -> None:
            if self.conn.their_state is not h11.IDLE:
                self._stop_timer()
            elif self._head_timer is None:
                self._head_timer = self.loop.call_later(header_timeout_s, self._on_head_timeout)

        def _stop_timer(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

        def _on_head_timeout(self) -> None:
            self.transport.abort()

    return TimedProtocol


def abort_connection(scope: MutableMapping[str, Any]) -> None:
    """Drops the connection of a request; nothing where another server runs the application."""
    abort = scope.get("state", {}).get(ABORT)
    if abort is not None:
        abort()
