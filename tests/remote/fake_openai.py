"""A server that speaks OpenAI's words on a loopback port; the user's message says what it does.

`say WORDS` streams them, `think` reasons first, `forever` streams until the client is gone, `cut`
ends in the middle, `break` tells an error in the middle, `html` answers with a page, `429`, `404`
and so on answer that, `silence` says nothing at all.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

KEY = "sk-remote-4711"
USAGE = {
    "prompt_tokens": 12,
    "completion_tokens": 34,
    "prompt_tokens_details": {"cached_tokens": 5},
}


@dataclass
class FakeOpenAI:
    """`bodies` are the requests it was sent; `num_gone` counts clients that left in the middle."""

    base_url: str = ""
    wants_key: bool = False
    reasoning_word: str = "reasoning_content"
    models: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"id": "big-70b", "object": "model", "max_model_len": 32768},
            {"id": "small", "object": "model"},
        ]
    )
    bodies: list[dict[str, Any]] = field(default_factory=list)
    num_gone: int = 0

    @contextmanager
    def running(self) -> Iterator[FakeOpenAI]:
        """Open on a port of its own until the end."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        config = uvicorn.Config(self._app(), log_config=None, lifespan="off", loop="asyncio")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield self
        finally:
            server.should_exit = server.force_exit = True
            thread.join()
            listener.close()

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/old/models", self._moved),
                Route("/page/models", self._page),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
            ]
        )

    async def _models(self, request: Request) -> Response:
        return self._refusal(request) or JSONResponse({"object": "list", "data": self.models})

    async def _moved(self, request: Request) -> Response:
        return RedirectResponse("http://127.0.0.1:1/v1/models")

    async def _page(self, request: Request) -> Response:
        return HTMLResponse("<h1>A page</h1>")

    async def _chat(self, request: Request) -> Response:
        body = await request.json()
        self.bodies.append(body)
        word, _, rest = body["messages"][-1]["content"].partition(" ")
        if refusal := self._refusal(request):
            return refusal
        if word == "html":
            return HTMLResponse("<h1>A page</h1>")
        if word.isdigit():
            error = {"message": rest, "type": "invalid_request_error"}
            return JSONResponse({"error": error} if rest else {}, status_code=int(word))
        stream = self._stream(word, rest, request)
        return StreamingResponse(stream, media_type="text/event-stream")

    def _refusal(self, request: Request) -> Response | None:
        if self.wants_key and request.headers.get("authorization") != f"Bearer {KEY}":
            error = {"message": "Incorrect API key provided.", "code": "invalid_api_key"}
            return JSONResponse({"error": error}, status_code=401)
        return None

    async def _stream(self, word: str, rest: str, request: Request) -> AsyncIterator[str]:
        yield ": keep-alive\n\n" + _event(_delta(role="assistant", content=""))
        if word == "silence":
            await asyncio.sleep(60)
        if word == "think":
            for part in ("Let me ", "see."):
                yield _event(_delta(**{self.reasoning_word: part}))
        words = itertools.count() if word == "forever" else rest.split()
        try:
            for part in words:
                yield _event(_delta(content=f"{part} "))
                await asyncio.sleep(0.002)
        except asyncio.CancelledError:
            self.num_gone += 1
            raise
        if word == "cut":
            return
        if word == "break":
            yield _event({"error": {"message": "The GPU fell off the bus"}})
            return
        yield _event(_delta(finish_reason="length" if word == "long" else "stop"))
        yield _event({"choices": [], "usage": USAGE}) + "data: [DONE]\n\n"


def _delta(finish_reason: str | None = None, **delta: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"
