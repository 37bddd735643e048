"""A source becomes a native checkpoint: planned, written aside on all cores, renamed last."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from app import __version__
from app.checkpoint.layout import stored_bytes
from app.checkpoint.manifest import LinearRecord, Manifest, Provenance, SourceInfo
from app.checkpoint.writer import CheckpointWriter, PartLinear, PartRecord, StreamedLinear
from app.converter.comparison import Comparison, Subject
from app.converter.grids import convert_linear, planned_bytes
from app.converter.output_guard import SpaceGuard, check_output
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
from app.core.conversion_events import (
    ConversionPlan,
    ConversionPlanned,
    ConversionReport,
    GridEvaluation,
    TensorReport,
)
from app.core.errors import AppError, JobCancelledError, UsageError
from app.core.events import Event
from app.core.holds import held
from app.core.jobs import CancelToken, cancellable_by
from app.core.sentence import Sentence
from app.core.system_reason import refused, system_reason

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

    The listener hears (for w3w4 MeasuringProgressed, then) ConversionPlanned, then
    ConversionProgressed and EvaluationProgressed, from any thread but one at a time. Raises an
    AppError for whatever stands in the way, JobCancelledError when cancelled; then nothing is left
    behind, except that with `resume` the parts already made stay for the next run.
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
    with (
        cancellable_by(request.cancel),
        held(output, Sentence("being converted")),
        held(WorkDir(output).path, Sentence("being converted")),
        held(source_path, Sentence("being converted")),
    ):
        return _convert(request, output, comparison)


def plan_conversion(
    source_path: Path,
    output: Path,
    options: Options,
    *,
    tokenizer_dir: Path | None = None,
    resume: bool = False,
    listener: Listener = lambda event: None,
    cancel: CancelToken | None = None,
) -> ConversionPlan:
    """The plan alone; with `resume` that of an interrupted conversion of this source, if there is
    one, whatever `options` say.

    The listener hears MeasuringProgressed, for w3w4. Raises an AppError as `convert` would.
    """
    token = cancel or CancelToken()
    with (
        cancellable_by(token),
        closing(open_source(source_path, tokenizer_dir=tokenizer_dir)) as source,
    ):
        kept = WorkDir(output).find_kept(source, _TOOL) if resume else None
        if kept is not None and not kept.num_parts:
            kept = None  # nothing to gain, and the user may have other options now
        if kept is not None:
            options = Options(**kept.job.options)
        plan = plan_in_detail(source, output, options, num_usable_cores(), listener).summary
    token.check()
    if kept is None:
        return plan
    return replace(plan, num_kept_parts=kept.num_parts, allow_lossy=kept.job.allow_lossy)


def evaluate_checkpoint(
    source_path: Path,
    checkpoint: Path,
    *,
    compare: Sequence[str] = (),
    group_size: int = 128,
    tokenizer_dir: Path | None = None,
    listener: Listener = lambda event: None,
    cancel: CancelToken | None = None,
) -> tuple[GridEvaluation, ...]:
    """What `evaluate` and `compare` of `convert` measure, of a checkpoint that is finished.

    The reports are written into it. Raises UsageError when it was not made of this source.
    """
    comparison = Comparison(tuple(compare))
    options = Options(group_size=group_size)
    token = cancel or CancelToken()
    request = _Request(source_path, options, tokenizer_dir=tokenizer_dir, listener=listener)
    request = replace(request, cancel=token)
    with cancellable_by(token), closing(request.open_source()) as source:
        manifest = Manifest.read(checkpoint)
        if manifest.source != _source_info(source):
            raise UsageError(
                "{checkpoint} was not made of {source}.",
                checkpoint=checkpoint.name,
                source=source_path.name,
            )
        work = WorkDir(checkpoint)
        subject = Subject(source, checkpoint, manifest.is_lossless, work.comparison)
        try:
            rows = comparison.run(subject, _converter(request), listener, token)
        finally:
            with suppress(OSError):  # not empty: an interrupted conversion's, to be resumed
                work.path.rmdir()
    comparison.write_report(checkpoint, rows)
    return rows


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of `convert` that its steps share."""

    source_path: Path
    options: Options
    allow_lossy: bool = False
    verify_whole: bool = False
    tokenizer_dir: Path | None = None
    format: str = "auto"
    resume: bool = False
    listener: Listener = lambda event: None
    cancel: CancelToken = field(default_factory=CancelToken)

    def open_source(self) -> Source:
        return open_source(self.source_path, format=self.format, tokenizer_dir=self.tokenizer_dir)


def _convert(request: _Request, output: Path, comparison: Comparison | None) -> ConversionReport:
    started = time.monotonic()
    with closing(request.open_source()) as source:
        options, listener = request.options, request.listener
        plan = plan_in_detail(source, output, options, num_usable_cores(), listener)
        listener(ConversionPlanned(plan.summary))
        work = WorkDir(output)
        with _refusals_told(output.name):
            finished = work.open(_create_job(request, source, plan), resume=request.resume)
        with _leaving_nothing(work, keep=request.resume):
            done_bytes = sum(part.file.num_bytes for part in finished.values())
            space = SpaceGuard(output, plan.summary.output_bytes - done_bytes)
            job = _Conversion(request, source, plan, work, finished, space)
            outcome = job.write()
            seconds = time.monotonic() - started
            report = create_report(
                plan.summary, outcome.manifest, outcome.tensors, outcome.notes, seconds
            )
            if comparison is not None:
                report = _compare(request, comparison, source, work, report)
            work.move_into_place(outcome.manifest)
    if comparison is not None and report.evaluations:
        comparison.write_report(output, report.evaluations)
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
    """The report with its evaluations, or with a note that says why there are none."""
    subject = Subject(source, work.checkpoint, report.lossless, work.comparison)
    try:
        rows = comparison.run(subject, _converter(request), request.listener, request.cancel)
    except JobCancelledError:
        raise
    except AppError as error:
        return replace(
            report, notes=(*report.notes, Sentence("Not evaluated: {reason}", reason=error.message))
        )
    return replace(report, evaluations=rows)


def _converter(request: _Request) -> Callable[[str, Path], ConversionReport]:
    """Converts the same source to another grid, into a folder that is made to be compared with."""

    def convert_to(grid: str, path: Path) -> ConversionReport:
        other = replace(
            request,
            options=Options(grid, request.options.group_size),
            allow_lossy=True,
            resume=False,
            listener=Comparison.relabel(grid, request.listener),
        )
        return _convert(other, path, None)

    return convert_to


@contextmanager
def _leaving_nothing(work: WorkDir, *, keep: bool) -> Iterator[None]:
    """Removes the working folder after a failure; a kill or Ctrl+C leaves it to be resumed."""
    try:
        with _refusals_told(work.output.name):
            yield
    except Exception:
        if not keep:
            work.remove()
        raise


@contextmanager
def _refusals_told(name: str) -> Iterator[None]:
    """Sources tell their own, so what the system refuses here is the output."""
    try:
        yield
    except OSError as error:
        raise refused(
            error,
            Sentence(
                "{name} could not be written: {reason}.", name=name, reason=system_reason(error)
            ),
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
        space: SpaceGuard,
    ) -> None:
        self._source, self._plan, self._work, self._finished = source, plan, work, finished
        self._space = space
        self._allow_lossy, self._verify_whole = request.allow_lossy, request.verify_whole
        self._progress = Progress(source.parts(), request.listener)
        self._cancel, self._stop = request.cancel, CancelToken()
        self._writer = CheckpointWriter()

    def write(self) -> _Outcome:
        """Writes every file of the checkpoint, the manifest last."""
        self._writer.begin(self._work.checkpoint)
        for name, content in self._plan.texts.items():
            self._writer.write_text(name, content)
        records = self._write_parts()
        tensors = create_tensor_reports(records, list(self._plan.linears))
        summary = self._plan.summary
        notes = summary.notes + outcome_notes(self._plan.linears, records)
        self._writer.write_text(MARKDOWN_NAME, render_markdown(summary, tensors, notes))
        self._writer.write_text(JSON_NAME, render_json(summary, tensors, notes))
        manifest = self._writer.finish(summary.architecture, _source_info(self._source), _TOOL)
        return _Outcome(manifest, tensors, notes)

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
        self._space.release(record.file.num_bytes)
        self._progress.finish_part(part)
        return record

    def _convert_linear(self, tracked: TrackedLinear) -> PartLinear:
        source = tracked.linear
        plan = self._plan.linears[source.name]
        found = convert_linear(source, plan, allow_lossy=self._allow_lossy)
        converted = verify_exact(source, found, whole=self._verify_whole)
        if not isinstance(converted.linear, StreamedLinear):
            tracked.finish()
            if quant := converted.linear.quant:
                self._space.grow(stored_bytes(quant, source.shape) - planned_bytes(source, plan))
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


def _source_info(source: Source) -> SourceInfo:
    return SourceInfo(source.format, source.name, source.source_bytes)
