"""Server-sent events: the reply in chunks while it is generated."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.server.connection import ClientGoneError, run_connected
from app.server.error_map import ApiError
from app.server.exchange import Exchange
from app.server.protocol import abort_connection

_HEADERS: Mapping[str, str] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",  # a proxy must not collect the chunks
}


class SseResponse(Response):
    """Sends an exchange's frames; generation ends with the connection, or with its patience."""

    def __init__(self, exchange: Exchange, send_timeout_s: float) -> None:
        super().__init__(headers=dict(_HEADERS))
        del self.headers["content-length"]
        self._exchange = exchange
        self._send_timeout_s = send_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ends the exchange in any case."""
        work = self._send_all(send)
        try:
            await run_connected(work, receive, self._exchange.generation.overrun)
        except ApiError as error:  # as the last frame has said
            self._exchange.close_failed(error, self.status_code)
        except (ClientGoneError, TimeoutError):
            abort_connection(scope)
        else:
            self._exchange.close_finished()
        finally:
            self._exchange.close_gone()

    async def _send_all(self, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        try:
            async for frame in self._exchange.iter_frames():
                await self._send(send, frame)
        except ApiError:
            await self._end(send)
            raise
        await self._end(send)

    async def _send(self, send: Send, frame: bytes) -> None:
        async with asyncio.timeout(self._send_timeout_s):
            await send({"type": "http.response.body", "body": frame, "more_body": True})

    async def _end(self, send: Send) -> None:
        async with asyncio.timeout(self._send_timeout_s):
            await send({"type": "http.response.body", "body": b"", "more_body": False})
