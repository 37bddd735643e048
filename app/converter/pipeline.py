"""A source becomes a native checkpoint: planned, written aside on all cores, renamed last."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app import __version__
from app.checkpoint.manifest import LinearRecord, Manifest, Provenance, SourceInfo
from app.checkpoint.writer import CheckpointWriter, PartLinear, PartRecord
from app.converter.grids import Grid, convert_linear, plan_linear
from app.converter.output_guard import check_free_space, check_output
from app.converter.plan import plan_conversion
from app.converter.progress import Progress, part_bytes
from app.converter.report import REPORT_NAME, create_report, create_tensor_reports, render_report
from app.converter.sources.base import Source, SourceLinear, SourcePart
from app.converter.sources.detect import open_source
from app.converter.verify import verify_exact
from app.converter.workdir import Job, WorkDir
from app.core.errors import JobCancelledError, ResourceError
from app.core.events import ConversionPlan, ConversionPlanned, ConversionReport, Event, TensorReport
from app.core.jobs import CancelToken

_TOOL = f"deepinfer {__version__}"
Listener = Callable[[Event], None]


def convert(
    source_path: Path,
    output: Path,
    *,
    grid: str = "auto",
    group_size: int = 128,
    tokenizer_dir: Path | None = None,
    format: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
    listener: Listener = lambda event: None,
    cancel: CancelToken | None = None,
) -> ConversionReport:
    """Converts a GGUF file or a Hugging Face folder into the native checkpoint `output`.

    The listener hears ConversionPlanned, then ConversionProgressed after each tensor, from any
    thread but one at a time. Raises an AppError for whatever stands in the way, JobCancelledError
    when cancelled; then nothing is left behind, except that with `resume` the parts already made
    stay for the next run.
    """
    started = time.monotonic()
    check_output(output, source_path, overwrite=overwrite)
    source = open_source(source_path, format=format, tokenizer_dir=tokenizer_dir)
    try:
        plan = plan_conversion(source, output, grid, group_size)
        listener(ConversionPlanned(plan))
        work = WorkDir(output)
        finished = work.open(Job.of(source, plan.grid, group_size, _TOOL), resume=resume)
        with _leaving_nothing(work, keep=resume):
            done_bytes = sum(part.file.num_bytes for part in finished.values())
            check_free_space(output, plan.output_bytes - done_bytes)
            job = _Conversion(source, plan, group_size, work, finished, listener, cancel)
            manifest, tensors = job.write()
            work.move_into_place(manifest)
    finally:
        source.close()
    return create_report(plan, manifest, tensors, time.monotonic() - started)


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


class _Conversion:
    """One conversion under way: parts go to threads, each part to its own file."""

    def __init__(
        self,
        source: Source,
        plan: ConversionPlan,
        group_size: int,
        work: WorkDir,
        finished: dict[str, PartRecord],
        listener: Listener,
        cancel: CancelToken | None,
    ) -> None:
        self._source, self._plan, self._group_size = source, plan, group_size
        self._work, self._finished = work, finished
        self._progress = Progress(source.parts(), listener)
        self._cancel, self._stop = cancel or CancelToken(), CancelToken()
        self._writer = CheckpointWriter()

    def write(self) -> tuple[Manifest, tuple[TensorReport, ...]]:
        """Writes every file of the checkpoint, the manifest last."""
        self._writer.begin(self._work.checkpoint)
        self._writer.write_text("config.json", _to_json(self._source.config))
        for name, content in self._source.iter_text_files():
            self._writer.write_text(name, content)
        records = self._write_parts()
        names = [linear.name for part in self._source.parts() for linear in part.linears]
        tensors = create_tensor_reports(records, names)
        self._writer.write_text(REPORT_NAME, render_report(self._plan, tensors))
        info = SourceInfo(self._source.format, self._source.name, self._source.source_bytes)
        return self._writer.finish(self._plan.architecture, info, _TOOL), tensors

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
        finished = self._finished.get(part.file)
        if finished is not None and self._writer.adopt_part(part.file, finished):
            self._progress.finish_part(part, part_bytes(part))
            return finished.linears
        linears = {linear.name: self._convert_linear(part, linear) for linear in part.linears}
        vectors = {vector.name: vector.load() for vector in part.vectors}
        record = self._writer.write_part(part.file, linears, vectors)
        self._work.record(part.file, record)
        self._progress.finish_part(part, sum(vector.source_bytes for vector in part.vectors))
        return record.linears

    def _convert_linear(self, part: SourcePart, source: SourceLinear) -> PartLinear:
        self._cancel.check()
        self._stop.check()
        plan = plan_linear(source, Grid(self._plan.grid), self._group_size)
        converted = verify_exact(source, convert_linear(source, plan))
        self._progress.add_bytes(part, source.source_bytes)
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
