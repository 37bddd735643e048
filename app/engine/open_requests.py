"""The requests that have not ended: who hears of them, and which are not queued yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from app.core.errors import UsageError
from app.core.events import ErrorInfo, Event, FinishReason, RequestFailed, RequestFinished, Usage
from app.engine.engine import RequestEvent
from app.engine.request_handle import RequestHandle


class OpenRequests:
    """For the engine thread alone. `emit` hears every event before the request's own handle."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._handles: dict[str, RequestHandle] = {}
        self._preparing: dict[str, RequestHandle] = {}

    @property
    def num_preparing(self) -> int:
        """Requests that wait for their prompt to be encoded."""
        return len(self._preparing)

    def open(self, handle: RequestHandle) -> bool:
        """False, and the handle knows why, where a request of that id is open."""
        if handle.request_id in self._handles:
            error = UsageError("The request {id} is running already.", id=handle.request_id)
            handle.put(RequestFailed(handle.request_id, ErrorInfo.from_exception(error)))
            return False
        self._handles[handle.request_id] = handle
        return True

    def begin(self, handle: RequestHandle) -> None:
        """Its request is being prepared."""
        self._preparing[handle.request_id] = handle

    def end_preparing(self, handle: RequestHandle) -> bool:
        """False for a request that has ended meanwhile."""
        if self._preparing.get(handle.request_id) is not handle:
            return False
        del self._preparing[handle.request_id]
        return True

    def cancel_preparing(self, request_id: str) -> None:
        """Ends a request that is not queued yet; no effect on others."""
        if self._preparing.pop(request_id, None) is not None:
            usage = Usage(0, 0, 0, 0.0, 0.0)
            self.publish([RequestFinished(request_id, FinishReason.CANCELLED, usage)])

    def cancel_all_preparing(self) -> None:
        """Ends every request that is not queued yet."""
        for request_id in list(self._preparing):
            self.cancel_preparing(request_id)

    def publish(self, events: Iterable[RequestEvent]) -> None:
        """To the listener and to the request's handle, which its last event ends."""
        for event in list(events):
            is_last = isinstance(event, RequestFinished | RequestFailed)
            handles = self._handles
            handle = handles.pop(event.request_id) if is_last else handles[event.request_id]
            self._emit(event)
            handle.put(event)

    def fail(self, request_id: str, error: ErrorInfo) -> None:
        """Ends one request with the error."""
        self.publish([RequestFailed(request_id, error)])

    def fail_all(self, error: ErrorInfo) -> None:
        """Ends every request with the error."""
        self._preparing.clear()
        for request_id in list(self._handles):
            self.fail(request_id, error)
