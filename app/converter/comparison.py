"""Grids side by side, before the user deletes the source: converted, evaluated, thrown away.

A conversion is lossless when every weight decodes to the source's own bits; it predicts what the
source predicts, so its KL is 0 without a measurement. Otherwise the source is also converted to its
own grid, where that is exact, or densely: the yardstick. Everything is streamed, and stands in the
working folder, so that a cancel or a failure leaves nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from app.checkpoint.tensor_file import write_blocks
from app.converter.evaluation import (
    Converted,
    Evaluator,
    render_evaluations,
    render_evaluations_json,
)
from app.converter.grids import Grid
from app.converter.sources.base import Source
from app.converter.workdir import WorkDir
from app.core.errors import AppError, JobCancelledError, UsageError
from app.core.events import (
    ConversionProgressed,
    ConversionReport,
    Event,
    GridEvaluation,
)
from app.core.jobs import CancelToken

MARKDOWN_NAME, JSON_NAME = "evaluation.md", "evaluation.json"
_COMPARABLE = (Grid.EXACT, Grid.W8, Grid.W4, Grid.W3, Grid.DENSE)

Listener = Callable[[Event], None]
ConvertTo = Callable[[str, Path], ConversionReport]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The conversion itself, and the `grids` that it is compared with.

    Raises UsageError for a grid that cannot be compared.
    """

    grids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for grid in self.grids:
            if grid not in _COMPARABLE:
                known = ", ".join(_COMPARABLE)
                raise UsageError(f"{grid!r} cannot be compared with; choose from {known}.")

    @staticmethod
    def relabel(grid: str, listener: Listener) -> Listener:
        """Lets progress of a conversion to `grid` through, and says what it is for."""

        def listen(event: Event) -> None:
            if isinstance(event, ConversionProgressed):
                listener(replace(event, step=f"{grid} to compare, {event.step}"))

        return listen

    def run(
        self,
        source: Source,
        work: WorkDir,
        report: ConversionReport,
        convert_to: ConvertTo,
        listener: Listener,
        cancel: CancelToken,
    ) -> ConversionReport:
        """The report with `evaluations`, or with a note that says why there are none."""
        try:
            rows = _Run(source, work, report, convert_to, Evaluator(listener, cancel)).rows(self)
        except JobCancelledError:
            raise
        except AppError as error:
            return replace(report, notes=(*report.notes, f"Not evaluated: {error.message}"))
        finally:
            shutil.rmtree(work.comparison, ignore_errors=True)
        return replace(report, evaluations=rows)

    @staticmethod
    def write_report(output: Path, report: ConversionReport) -> None:
        """Beside the checkpoint's files, outside its manifest: figures depend on the machine."""
        if not report.evaluations:
            return
        contents = {
            MARKDOWN_NAME: render_evaluations(report.evaluations),
            JSON_NAME: render_evaluations_json(report.evaluations),
        }
        for name, content in contents.items():
            write_blocks(output / name, [content.encode()])


class _Run:
    """One comparison under way."""

    def __init__(
        self,
        source: Source,
        work: WorkDir,
        report: ConversionReport,
        convert_to: ConvertTo,
        evaluator: Evaluator,
    ) -> None:
        self._work, self._report = work, report
        self._convert_to, self._evaluator = convert_to, evaluator
        self._is_held_exactly = _is_held_exactly(source)

    def rows(self, comparison: Comparison) -> tuple[GridEvaluation, ...]:
        """This conversion's row first; each other checkpoint is deleted once it is evaluated."""
        yardstick = self._make_yardstick()
        own = None if self._report.lossless else yardstick
        rows = [self._evaluator.evaluate(Converted("this", self._work.checkpoint), own)]
        for grid in comparison.grids:
            path = self._work.comparison / grid
            made = self._convert_to(grid, path)
            rows.append(
                self._evaluator.evaluate(
                    Converted(grid, path), None if made.lossless else yardstick
                )
            )
            shutil.rmtree(path)
        return tuple(rows)

    def _make_yardstick(self) -> Path:
        if self._report.lossless:
            return self._work.checkpoint
        path = self._work.comparison / "yardstick"
        if not (self._is_held_exactly and self._convert_to(Grid.EXACT, path).lossless):
            self._convert_to(Grid.DENSE, path)
        return path


def _is_held_exactly(source: Source) -> bool:
    linears = [linear for part in source.parts() for linear in part.linears]
    return all(linear.native is not None or not linear.is_quantized for linear in linears)
