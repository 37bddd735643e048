"""An engine on a tiny model and what its requests heard: for tests of scheduling."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.core.events import FinishReason, PrefillProgressed, RequestFinished, TokensGenerated
from app.engine.engine import Engine, RequestEvent
from app.engine.executors.base import Executor
from app.engine.executors.reference import ReferenceExecutor
from app.engine.prefill_pacer import PrefillPacer
from app.engine.request import Request
from app.engine.tokenizer import Tokenizer
from app.spec.registry import create_spec
from tests.families.hybrid_cases import CASES
from tests.family_models import write_folder
from tests.tiny_models import tokenizer_files


def write_hybrid_model(directory: Path) -> Path:
    """A tiny Qwen3.5 that speaks printable ASCII, in a folder below."""
    case = next(case for case in CASES if case.name == "qwen3.5")
    folder = write_folder(case, directory / "folder")
    convert(folder, directory / "model", grid="dense")
    for name, content in tokenizer_files().items():
        (directory / "model" / name).write_text(content, encoding="utf-8")
    return directory / "model"


class Run:
    """Steps an engine and keeps every event."""

    def __init__(self, engine: Engine, executor: Executor) -> None:
        self.engine, self.executor = engine, executor
        self.events: list[RequestEvent] = []

    def add(self, *requests: Request) -> None:
        """Queues them."""
        for request in requests:
            self.events += self.engine.add(request)

    def cancel(self, request: Request) -> None:
        """Ends it now."""
        self.events += self.engine.cancel(request.request_id)

    def step(self, num_steps: int = 1) -> list[RequestEvent]:
        """The events of the next steps."""
        first = len(self.events)
        for _ in range(num_steps):
            if self.engine.has_work:
                self.events += self.engine.step()
        return self.events[first:]

    def finish(self) -> int:
        """Steps until nothing is left to do; returns how many steps that took."""
        num_steps = 0
        while self.engine.has_work:
            self.step()
            num_steps += 1
        return num_steps

    def of(self, request: Request, kind: type) -> list[Any]:
        """Its events of a kind."""
        own = (e for e in self.events if e.request_id == request.request_id)
        return [event for event in own if isinstance(event, kind)]

    def ids(self, request: Request) -> list[int]:
        """The tokens of its reply so far."""
        return [i for event in self.of(request, TokensGenerated) for i in event.token_ids]

    def finished(self, request: Request) -> RequestFinished:
        """Its last event."""
        (event,) = self.of(request, RequestFinished)
        assert isinstance(event, RequestFinished)
        return event

    def is_finished(self, request: Request) -> bool:
        """Whether it has had its last event."""
        return bool(self.of(request, RequestFinished))

    def reason(self, request: Request) -> FinishReason:
        """Why it ended."""
        return self.finished(request).finish_reason

    def cached(self, request: Request) -> int:
        """How much of its prompt was not computed."""
        return self.finished(request).usage.cached_tokens

    def pieces(self, request: Request) -> list[int]:
        """How its prompt was cut, as far as it has run."""
        ends = [event.num_done for event in self.of(request, PrefillProgressed)]
        starts = [0, *ends[:-1]]
        return [end - start for start, end in zip(starts, ends, strict=True)]

    def answer(self, request: Request) -> list[int]:
        """The tokens of a request that runs alone."""
        self.add(request)
        self.finish()
        return self.ids(request)


@contextmanager
def open_run(
    model_dir: Path,
    num_slots: int = 8,
    num_pages: int | None = None,
    max_model_len: int = 700,
    kind: type[Executor] = ReferenceExecutor,
    pacer: PrefillPacer | None = None,
    **options: Any,
) -> Iterator[Run]:
    """A fresh engine on an executor with these slots and pages."""
    with Checkpoint.open(model_dir) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = kind(checkpoint, spec, max_model_len, num_slots, num_pages=num_pages, **options)
        engine = Engine(executor, Tokenizer.from_dir(model_dir), pacer)
        try:
            yield Run(engine, executor)
        finally:
            engine.close()
