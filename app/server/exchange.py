"""One request that generates, from the engine's events to the reply, whole or in chunks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence

from app.core.events import (
    Event,
    FinishReason,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
)
from app.core.server_events import ServerRequestState
from app.server.choice import Choice, JsonObject
from app.server.error_map import CONTEXT_LENGTH_CODE, ApiError, to_api_error
from app.server.generation import ChoiceEvent, Generation
from app.server.register import Entry
from app.server.reply_form import ReplyForm

KEEP_ALIVE = b": keep-alive\n\n"
STATUS_GONE = 499  # nginx's word for a client that closed its connection


class Exchange:
    """Owns the entry and the generation of one request; `close_*` ends both, once."""

    def __init__(
        self,
        form: ReplyForm,
        choices: Sequence[Choice],
        generation: Generation,
        entry: Entry,
        keep_alive_s: float,
    ) -> None:
        self._form = form
        self._choices = choices
        self._entry = entry
        self._keep_alive_s = keep_alive_s
        self._first: list[ChoiceEvent] = []
        self._is_closed = False
        self.generation = generation

    # --- replies -----------------------------------------------------------------------------

    async def run(self) -> JsonObject:
        """The whole reply; raises ApiError when the engine refuses or fails."""
        self.generation.start()
        while not self.generation.is_over:
            self._apply_all(await self.generation.read())
        return self._form.whole(self._choices)

    async def begin(self) -> None:
        """Waits for the first sign of the engine, so that a refusal still has a status of its own.

        Raises ApiError for it. A request that waits for its turn gives no sign: after a while the
        stream begins without one.
        """
        self.generation.start()
        self._first = await self.generation.read(self._keep_alive_s)
        for _, event in self._first:
            if isinstance(event, RequestFailed):
                raise self._describe_failure(event)

    async def iter_frames(self) -> AsyncIterator[bytes]:
        """The stream, in as many pieces as are worth sending; a failure is the last frame.

        Raises ApiError behind that frame, for the record.
        """
        yield self._frame_all(chunk for choice in self._choices for chunk in choice.begin())
        events = self._first
        try:
            while True:
                if frames := self._frame_all(self._apply_all(events)):
                    yield frames
                if self.generation.is_over:
                    break
                events = await self.generation.read(self._keep_alive_s)
                if not events:
                    yield KEEP_ALIVE
        except ApiError as error:
            yield self._form.fail(error)
            raise
        if end := self._form.end(self._choices):
            yield end

    # --- ends --------------------------------------------------------------------------------

    def close_finished(self) -> None:
        """All was sent."""
        self._close(ServerRequestState.FINISHED, 200)

    def close_failed(self, error: ApiError, status: int | None = None) -> None:
        """The client was told why."""
        is_cancelled = self._entry.is_cancelled
        state = ServerRequestState.CANCELLED if is_cancelled else ServerRequestState.FAILED
        self._close(state, status or error.status, error.message)

    def close_gone(self) -> None:
        """Nobody is there to be told."""
        self._close(ServerRequestState.CANCELLED, STATUS_GONE)

    def _close(self, state: ServerRequestState, status: int, error: str = "") -> None:
        if not self._is_closed:
            self._is_closed = True
            if not self.generation.is_over:
                self.generation.cancel()
            self._entry.close(state, status, error)

    # --- events ------------------------------------------------------------------------------

    def _apply_all(self, events: Iterable[ChoiceEvent]) -> list[JsonObject]:
        return [chunk for index, event in events for chunk in self._apply(index, event)]

    def _apply(self, index: int, event: Event) -> list[JsonObject]:
        self._entry.note(index, event)
        choice = self._choices[index]
        match event:
            case TokensGenerated():
                return self._add(choice, event)
            case RequestFinished(finish_reason=FinishReason.CANCELLED) if not choice.is_complete:
                raise self._describe_cancel()
            case RequestFinished(finish_reason=reason, usage=usage):
                return choice.finish(reason, usage)
            case RequestFailed():
                raise self._describe_failure(event)
        return []

    def _add(self, choice: Choice, event: TokensGenerated) -> list[JsonObject]:
        chunks = [] if choice.is_complete else choice.add(event)
        if choice.is_complete:
            self.generation.cancel_choice(choice.index)
        return chunks

    def _describe_cancel(self) -> ApiError:
        """403 where a person at this machine did it: official clients try again after a 5xx."""
        if self._entry.is_cancelled:
            return ApiError(
                403, "The request was cancelled at this machine.", code="request_cancelled"
            )
        return ApiError(503, "The model was unloaded meanwhile.", code="engine_not_ready")

    def _describe_failure(self, event: RequestFailed) -> ApiError:
        error = to_api_error(event.error)
        if error.code == CONTEXT_LENGTH_CODE:
            error.param = self._form.prompt_param
        return error

    def _frame_all(self, chunks: Iterable[JsonObject]) -> bytes:
        return b"".join(map(self._form.frame, chunks))
