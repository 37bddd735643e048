"""A reply from another server, as the events of the engine's own."""

from __future__ import annotations

import time
from collections.abc import Callable

from app.core.boundary import Guard
from app.core.errors import JobCancelledError
from app.core.events import (
    ErrorInfo,
    Event,
    FinishReason,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    Usage,
)
from app.engine.request import Request
from app.remote.chunks import Chunk
from app.remote.client import stream_chat
from app.remote.endpoint import RemoteEndpoint
from app.remote.loop_task import LoopTask

_REASONS = {"length": FinishReason.LENGTH}


class RemoteReply:
    """One reply. `run` waits for its end on the caller's thread; `cancel` may come from any.

    Reasoning comes as `<think>` in the text, as models of one's own write it. A server tells no
    token ids.
    """

    def __init__(
        self, endpoint: RemoteEndpoint, request: Request, listener: Callable[[Event], None]
    ) -> None:
        self._endpoint = endpoint
        self._request = request
        self._listener = listener
        self._task = LoopTask(self._read)
        self._meter = _Meter()
        self._thoughts = _ThinkWriter()

    def run(self) -> None:
        """Streams; tells RequestFinished or RequestFailed at last."""
        with Guard("A reply of another server broke off", self._break_off):
            self._task.run()
            self._finish(_REASONS.get(self._meter.finish_reason, FinishReason.STOP))

    def cancel(self) -> None:
        """Closes the connection, which ends the reply at the server; RequestFinished(cancelled)
        comes at once. No effect on a reply that has ended.
        """
        self._task.cancel()

    async def _read(self) -> None:
        async for chunk in stream_chat(self._endpoint, self._request):
            self._meter.add(chunk, time.monotonic())
            self._tell(self._thoughts.write(chunk))

    def _break_off(self, error: Exception) -> None:
        if isinstance(error, JobCancelledError):
            self._finish(FinishReason.CANCELLED)
        else:
            info = ErrorInfo.from_exception(error)
            self._listener(RequestFailed(self._request.request_id, info))

    def _finish(self, reason: FinishReason) -> None:
        self._tell(self._thoughts.close())
        usage = self._meter.usage()
        self._listener(RequestFinished(self._request.request_id, reason, usage))

    def _tell(self, text: str) -> None:
        if text:
            self._listener(TokensGenerated(self._request.request_id, (), text))


class _ThinkWriter:
    """Puts reasoning into `<think>`."""

    def __init__(self) -> None:
        self._is_open = False

    def write(self, chunk: Chunk) -> str:
        text = ""
        if chunk.reasoning:
            text = chunk.reasoning if self._is_open else f"<think>\n{chunk.reasoning}"
            self._is_open = True
        return text + self.close() + chunk.text if chunk.text else text

    def close(self) -> str:
        was_open, self._is_open = self._is_open, False
        return "\n</think>\n\n" if was_open else ""


class _Meter:
    """Counts and times as they are seen here; the server's own counts where it tells them."""

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._first_s = self._last_s = 0.0
        self._num_deltas = 0
        self._counts = Chunk()
        self.finish_reason = ""

    def add(self, chunk: Chunk, now_s: float) -> None:
        if chunk.text or chunk.reasoning:
            self._first_s = self._first_s or now_s
            self._last_s = now_s
            self._num_deltas += 1
        if chunk.finish_reason:
            self.finish_reason = chunk.finish_reason
        if chunk.completion_tokens is not None:
            self._counts = chunk

    def usage(self) -> Usage:
        """Without counts of the server, each delta is taken for a token."""
        counts = self._counts
        num_tokens = counts.completion_tokens
        return Usage(
            prompt_tokens=counts.prompt_tokens or 0,
            cached_tokens=counts.cached_tokens,
            completion_tokens=self._num_deltas if num_tokens is None else num_tokens,
            ttft_s=max(0.0, self._first_s - self._started_s),
            decode_s=self._last_s - self._first_s,
        )
