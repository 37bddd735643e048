"""A source becomes a native checkpoint: planned, written aside on all cores, renamed last."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app import __version__
from app.checkpoint.manifest import LinearRecord, Manifest, Provenance, SourceInfo
from app.checkpoint.writer import CheckpointWriter, PartLinear, PartRecord, StreamedLinear
from app.converter.comparison import Comparison
from app.converter.grids import convert_linear
from app.converter.output_guard import check_free_space, check_output
from app.converter.permutations import settle_permutations
from app.converter.plan import DetailedPlan, Options, plan_in_detail
from app.converter.progress import Progress, TrackedLinear, part_bytes
from app.converter.report import (
    JSON_NAME,
    MARKDOWN_NAME,
    create_report,
    create_tensor_reports,
    outcome_notes,
    render_json,
    render_markdown,
)
from app.converter.sources.base import Source, SourcePart
from app.converter.sources.detect import open_source
from app.converter.verify import verify_exact
from app.converter.workdir import Job, WorkDir
from app.core.errors import JobCancelledError, ResourceError
from app.core.events import ConversionPlanned, ConversionReport, Event, TensorReport
from app.core.jobs import CancelToken, cancellable_by

_TOOL = f"deepinfer {__version__}"
Listener = Callable[[Event], None]


def convert(
    source_path: Path,
    output: Path,
    *,
    grid: str = "auto",
    group_size: int = 128,
    vram_budget: int | None = None,
    allow_lossy: bool = False,
    verify_whole: bool = False,
    tokenizer_dir: Path | None = None,
    format: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
    evaluate: bool = False,
    compare: Sequence[str] = (),
    listener: Listener = lambda event: None,
    cancel: CancelToken | None = None,
) -> ConversionReport:
    """Converts a GGUF file or a Hugging Face folder into the native checkpoint `output`.

    `vram_budget` bytes belong to the grid w3w4; `allow_lossy` accepts linears that even int8 does
    not hold; `verify_whole` compares every row of exact linears, not a sample; `evaluate` measures
    perplexity and KL before the output appears, `compare` also those of other grids.

    The listener hears ConversionPlanned, then ConversionProgressed and EvaluationProgressed, from
    any thread but one at a time. Raises an AppError for whatever stands in the way,
    JobCancelledError when cancelled; then nothing is left behind, except that with `resume` the
    parts already made stay for the next run.
    """
    request = _Request(
        source_path,
        Options(grid, group_size, vram_budget),
        allow_lossy,
        verify_whole,
        tokenizer_dir,
        format,
        resume,
        listener,
        cancel or CancelToken(),
    )
    comparison = Comparison(tuple(compare)) if evaluate or compare else None
    check_output(output, source_path, overwrite=overwrite)
    with cancellable_by(request.cancel):
        return _convert(request, output, comparison)


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of `convert` that its steps share."""

    source_path: Path
    options: Options
    allow_lossy: bool
    verify_whole: bool
    tokenizer_dir: Path | None
    format: str
    resume: bool
    listener: Listener
    cancel: CancelToken

    def open_source(self) -> Source:
        return open_source(self.source_path, format=self.format, tokenizer_dir=self.tokenizer_dir)


def _convert(request: _Request, output: Path, comparison: Comparison | None) -> ConversionReport:
    started = time.monotonic()
    with closing(request.open_source()) as source:
        plan = plan_in_detail(source, output, request.options, num_usable_cores())
        request.listener(ConversionPlanned(plan.summary))
        work = WorkDir(output)
        finished = work.open(_create_job(request, source, plan), resume=request.resume)
        with _leaving_nothing(work, keep=request.resume):
            done_bytes = sum(part.file.num_bytes for part in finished.values())
            check_free_space(output, plan.summary.output_bytes - done_bytes)
            job = _Conversion(request, source, plan, work, finished)
            outcome = job.write()
            seconds = time.monotonic() - started
            report = create_report(
                plan.summary, outcome.manifest, outcome.tensors, outcome.notes, seconds
            )
            if comparison is not None:
                report = _compare(request, comparison, source, work, report)
            work.move_into_place(outcome.manifest)
    if comparison is not None:
        comparison.write_report(output, report)
    return report


def _create_job(request: _Request, source: Source, plan: DetailedPlan) -> Job:
    options = replace(request.options, grid=plan.summary.grid)
    return Job.of(source, options, request.allow_lossy, _TOOL)


def _compare(
    request: _Request,
    comparison: Comparison,
    source: Source,
    work: WorkDir,
    report: ConversionReport,
) -> ConversionReport:
    """The report with its evaluations; other grids are converted into the working folder."""

    def convert_to(grid: str, path: Path) -> ConversionReport:
        other = replace(
            request,
            options=Options(grid, request.options.group_size),
            allow_lossy=True,
            resume=False,
            listener=comparison.relabel(grid, request.listener),
        )
        return _convert(other, path, None)

    return comparison.run(source, work, report, convert_to, request.listener, request.cancel)


@contextmanager
def _leaving_nothing(work: WorkDir, *, keep: bool) -> Iterator[None]:
    """Removes the working folder after a failure; a kill or Ctrl+C leaves it to be resumed."""
    try:
        yield
    except Exception as error:
        if not keep:
            work.remove()
        if not isinstance(error, OSError):
            raise
        raise ResourceError(
            f"{work.output.name} could not be written: {error.strerror or error}.",
            detail=repr(error),
        ) from error


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What was written."""

    manifest: Manifest
    tensors: tuple[TensorReport, ...]
    notes: tuple[str, ...]


class _Conversion:
    """One conversion under way: parts go to threads, each part to its own file."""

    def __init__(
        self,
        request: _Request,
        source: Source,
        plan: DetailedPlan,
        work: WorkDir,
        finished: dict[str, PartRecord],
    ) -> None:
        self._source, self._plan, self._work, self._finished = source, plan, work, finished
        self._allow_lossy, self._verify_whole = request.allow_lossy, request.verify_whole
        self._progress = Progress(source.parts(), request.listener)
        self._cancel, self._stop = request.cancel, CancelToken()
        self._writer = CheckpointWriter()

    def write(self) -> _Outcome:
        """Writes every file of the checkpoint, the manifest last."""
        self._writer.begin(self._work.checkpoint)
        self._writer.write_text("config.json", _to_json(self._source.config))
        for name, content in self._source.iter_text_files():
            self._writer.write_text(name, content)
        records = self._write_parts()
        tensors = create_tensor_reports(records, list(self._plan.linears))
        summary = self._plan.summary
        notes = summary.notes + outcome_notes(self._plan.linears, records)
        self._writer.write_text(MARKDOWN_NAME, render_markdown(summary, tensors, notes))
        self._writer.write_text(JSON_NAME, render_json(summary, tensors, notes))
        info = SourceInfo(self._source.format, self._source.name, self._source.source_bytes)
        return _Outcome(self._writer.finish(summary.architecture, info, _TOOL), tensors, notes)

    def _write_parts(self) -> dict[str, LinearRecord]:
        """Largest first, so that no thread is left alone with the embedding at the end."""
        parts = sorted(self._source.parts(), key=part_bytes, reverse=True)
        pool = ThreadPoolExecutor(num_usable_cores(), thread_name_prefix="convert")
        try:
            futures = [pool.submit(self._write_part, part) for part in parts]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            self._stop.cancel()
            pool.shutdown(cancel_futures=True)
        _raise_first(done)
        return {name: record for future in done for name, record in future.result().items()}

    def _write_part(self, part: SourcePart) -> Mapping[str, LinearRecord]:
        with cancellable_by(self._cancel, self._stop):
            finished = self._finished.get(part.file)
            if finished is not None and self._writer.adopt_part(part.file, finished):
                self._progress.adopt_part(part)
                return finished.linears
            return self._make_part(part).linears

    def _make_part(self, part: SourcePart) -> PartRecord:
        tracked = {linear.name: self._progress.track(part, linear) for linear in part.linears}
        linears = {name: self._convert_linear(linear) for name, linear in tracked.items()}
        vectors = {vector.name: vector.load() for vector in part.vectors}
        record = self._writer.write_part(part.file, settle_permutations(linears), vectors)
        for name, part_linear in linears.items():
            if isinstance(part_linear.linear, StreamedLinear):  # read only now
                tracked[name].finish()
        self._work.record(part.file, record)
        self._progress.finish_part(part)
        return record

    def _convert_linear(self, tracked: TrackedLinear) -> PartLinear:
        source = tracked.linear
        plan = self._plan.linears[source.name]
        found = convert_linear(source, plan, allow_lossy=self._allow_lossy)
        converted = verify_exact(source, found, whole=self._verify_whole)
        if not isinstance(converted.linear, StreamedLinear):
            tracked.finish()
        origin = Provenance(
            source.source_name, source.source_type, converted.path, converted.rel_err
        )
        return PartLinear(converted.linear, origin)


def num_usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _raise_first(done: set[Future[Mapping[str, LinearRecord]]]) -> None:
    """The failure that stopped the others, not the cancellation that it caused in them."""
    errors = [error for future in done if (error := future.exception()) is not None]
    errors.sort(key=lambda error: isinstance(error, JobCancelledError))
    if errors:
        raise errors[0]


def _to_json(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
