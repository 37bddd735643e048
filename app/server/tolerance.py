"""Requests that mean the same as one that is served: HEAD for GET, a slash at the end."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Tolerance:
    """ASGI middleware, behind the gate: monitors ask with HEAD, and a base URL is often joined with
    one slash too many."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        scope = {**scope, "path": path.rstrip("/") or "/"}
        if scope["method"] == "HEAD":
            scope["method"], send = "GET", _without_body(send)
        await self._app(scope, receive, send)


def _without_body(send: Send) -> Send:
    async def send_head(message: Message) -> None:
        is_body = message["type"] == "http.response.body"
        await send({**message, "body": b""} if is_body else message)

    return send_head
