"""Converting with a progress bar, and what Ctrl+C means meanwhile."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from app.cli.progress import ProgressBar
from app.converter.pipeline import convert
from app.core.conversion_events import (
    ConversionProgressed,
    ConversionReport,
    EvaluationProgressed,
    MeasuringProgressed,
)
from app.core.events import Event
from app.core.jobs import CancelToken


def convert_with_progress(*args: Any, **options: Any) -> ConversionReport:
    """`app.converter.pipeline.convert`, drawn on stderr; Ctrl+C cancels and leaves nothing."""
    with ProgressBar("converting") as bar, cancelled_by_interrupt() as cancel:

        def show(event: Event) -> None:
            if isinstance(event, ConversionProgressed):
                bar.update(event.done_bytes, event.total_bytes, _describe(event))
            elif isinstance(event, EvaluationProgressed):
                bar.update(event.num_done, event.num_tokens, label=f"evaluating {event.grid}")
            elif isinstance(event, MeasuringProgressed):
                bar.update(event.num_done, event.num_linears, label="measuring 3 and 4 bits")

        return convert(*args, **options, listener=show, cancel=cancel)


def _describe(event: ConversionProgressed) -> str:
    where = event.tensor or event.step
    if event.compared_grid:
        where = f"{event.compared_grid} to compare, {where}"
    if event.eta_s is None:
        return where
    return f"{where}, {event.eta_s:.0f} s left"


@contextmanager
def cancelled_by_interrupt() -> Iterator[CancelToken]:
    """Turns the first Ctrl+C into a cancel; a second one is a KeyboardInterrupt again."""
    cancel = CancelToken()

    def on_interrupt(_signal: int, _frame: FrameType | None) -> None:
        cancel.cancel()
        signal.signal(signal.SIGINT, previous)

    previous = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield cancel
    finally:
        signal.signal(signal.SIGINT, previous)
