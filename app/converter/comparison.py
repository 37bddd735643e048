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
from app.core.conversion_events import ConversionProgressed, ConversionReport, GridEvaluation
from app.core.errors import UsageError
from app.core.events import Event
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
                raise UsageError(
                    "{grid!r} cannot be compared with; choose from {known}.", grid=grid, known=known
                )

    @staticmethod
    def relabel(grid: str, listener: Listener) -> Listener:
        """Lets progress of a conversion to `grid` through, and says what it is for."""

        def listen(event: Event) -> None:
            if isinstance(event, ConversionProgressed):
                listener(replace(event, compared_grid=grid))

        return listen

    def run(
        self, subject: Subject, convert_to: ConvertTo, listener: Listener, cancel: CancelToken
    ) -> tuple[GridEvaluation, ...]:
        """The subject's row first; raises an AppError when something cannot be evaluated."""
        try:
            return _Run(subject, convert_to, Evaluator(listener, cancel)).rows(self)
        finally:
            shutil.rmtree(subject.folder, ignore_errors=True)

    @staticmethod
    def write_report(output: Path, rows: tuple[GridEvaluation, ...]) -> None:
        """Beside the checkpoint's files, outside its manifest: figures depend on the machine."""
        contents = {
            MARKDOWN_NAME: render_evaluations(rows),
            JSON_NAME: render_evaluations_json(rows),
        }
        for name, content in contents.items():
            write_blocks(output / name, [content.encode()])


@dataclass(frozen=True, slots=True)
class Subject:
    """The checkpoint to evaluate, its source, and the folder in which others may be made."""

    source: Source
    checkpoint: Path
    lossless: bool
    folder: Path


class _Run:
    """One comparison under way."""

    def __init__(self, subject: Subject, convert_to: ConvertTo, evaluator: Evaluator) -> None:
        self._subject, self._convert_to, self._evaluator = subject, convert_to, evaluator

    def rows(self, comparison: Comparison) -> tuple[GridEvaluation, ...]:
        """Each other checkpoint is deleted once it is evaluated."""
        yardstick = self._make_yardstick()
        own = None if self._subject.lossless else yardstick
        rows = [self._evaluator.evaluate(Converted("this", self._subject.checkpoint), own)]
        for grid in comparison.grids:
            path = self._subject.folder / grid
            made = self._convert_to(grid, path)
            rows.append(
                self._evaluator.evaluate(
                    Converted(grid, path), None if made.lossless else yardstick
                )
            )
            shutil.rmtree(path)
        return tuple(rows)

    def _make_yardstick(self) -> Path:
        if self._subject.lossless:
            return self._subject.checkpoint
        path = self._subject.folder / "yardstick"
        is_held_exactly = _is_held_exactly(self._subject.source)
        if not (is_held_exactly and self._convert_to(Grid.EXACT, path).lossless):
            self._convert_to(Grid.DENSE, path)
        return path


def _is_held_exactly(source: Source) -> bool:
    linears = [linear for part in source.parts() for linear in part.linears]
    return all(linear.native is not None or not linear.is_quantized for linear in linears)
