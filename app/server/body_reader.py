"""Reads a request's body before anybody looks at it, within a limit of bytes and of time."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server.error_map import ApiError, create_error_response
from app.server.options import ServerOptions


class ClientGoneError(Exception):
    """The connection was closed before the request was complete."""


class BodyReader:
    """ASGI middleware, behind the gate: a stranger's body is not even read."""

    def __init__(self, app: ASGIApp, options: ServerOptions) -> None:
        self._app = app
        self._max_bytes = options.max_body_bytes
        self._timeout_s = options.body_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
        except ApiError as refusal:
            await create_error_response(refusal)(scope, receive, send)
        except ClientGoneError:
            return
        else:
            await self._app(scope, _replay(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        _refuse_encoding(headers.get(b"content-encoding", b"identity").decode("latin-1"))
        declared = headers.get(b"content-length", b"0")
        self._check(int(declared) if declared.isdigit() else 0)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._collect(receive)
        except TimeoutError:
            raise ApiError(
                408,
                f"The request was not complete after {self._timeout_s:g} s.",
                code="request_timeout",
                headers={"Connection": "close"},
            ) from None

    async def _collect(self, receive: Receive) -> bytes:
        pieces: list[bytes] = []
        num_bytes = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            pieces.append(message.get("body", b""))
            num_bytes += len(pieces[-1])
            self._check(num_bytes)
            if not message.get("more_body", False):
                return b"".join(pieces)

    def _check(self, num_bytes: int) -> None:
        if num_bytes > self._max_bytes:
            raise ApiError(
                413,
                f"The request has more than the {self._max_bytes:,} bytes that are taken here.",
                code="request_too_large",
                headers={"Connection": "close"},
            )


def _refuse_encoding(encoding: str) -> None:
    if encoding.lower() not in ("identity", ""):
        raise ApiError(
            415,
            f"The body is compressed ({encoding}); send it as it is.",
            code="unsupported_content_encoding",
            headers={"Accept-Encoding": "identity", "Connection": "close"},
        )


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the body in one piece, then what the connection tells: that it was closed."""
    is_given = False

    async def next_message() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message
