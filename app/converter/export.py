"""A native checkpoint becomes one that vLLM and its like load: compressed-tensors or GPTQ.

Linears that stay quantized keep codes, scales and zero points: what the export decodes to is bit
for bit what the native checkpoint decodes to. Written aside, then renamed.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.checkpoint.reader import Checkpoint
from app.converter.export_plan import ExportFormat, ExportPlan, plan_export
from app.converter.export_writer import ExportWriter, Listener
from app.converter.output_guard import check_free_space
from app.core.errors import OutputExistsError, UnsupportedError, UsageError
from app.core.jobs import CancelToken, cancellable_by
from app.core.sentence import Sentence
from app.core.system_reason import refused, system_reason
from app.spec.registry import weight_names
from app.spec.weight_names import LLAMA_NAMES


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written; `notes` say which quantized linears are dense now, and why."""

    output: Path
    format: str
    architecture: str
    num_quantized: int
    num_dense: int
    output_bytes: int
    seconds: float
    notes: tuple[str, ...]


def export(
    model_dir: Path,
    output: Path,
    format: ExportFormat,
    *,
    listener: Listener = lambda done, total, part: None,
    cancel: CancelToken | None = None,
) -> ExportReport:
    """Writes the native checkpoint `model_dir` to the new folder `output`.

    The listener hears (parts done, parts, the part under way). Raises UsageError for an output that
    is there already, UnsupportedError for a checkpoint of which the format holds no linear,
    CheckpointError for a damaged one, JobCancelledError; then nothing is left behind.
    """
    started = time.monotonic()
    _check_output(output, model_dir)
    with Checkpoint.open(model_dir) as checkpoint, cancellable_by(cancel or CancelToken()):
        _check_names(checkpoint)
        plan = plan_export(checkpoint, format)
        check_free_space(output, _planned_bytes(checkpoint, plan))
        with _whole_or_nothing(output) as folder:
            ExportWriter(checkpoint, plan, folder).write(listener)
    return ExportReport(
        output=output,
        format=format.value,
        architecture=checkpoint.manifest.architecture,
        num_quantized=len(plan.grids),
        num_dense=len(checkpoint.manifest.linears) - len(plan.grids),
        output_bytes=sum(path.stat().st_size for path in output.iterdir()),
        seconds=time.monotonic() - started,
        notes=plan.notes,
    )


def _check_names(checkpoint: Checkpoint) -> None:
    """Fused and reordered tensors would have to be put together again, which nothing does yet."""
    if weight_names(checkpoint.config) != LLAMA_NAMES:
        raise UnsupportedError(
            "{architecture} cannot be exported: only families whose tensors are named as Llama's "
            "can.",
            architecture=checkpoint.manifest.architecture,
        )


def _check_output(output: Path, model_dir: Path) -> None:
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise OutputExistsError("{output} exists already; choose a new folder.", output=output)
    if output.resolve() in model_dir.resolve().parents:
        raise UsageError("{output} contains the model.", output=output)


@contextmanager
def _whole_or_nothing(output: Path) -> Iterator[Path]:
    """A folder beside `output`, which takes its name when all went well and goes otherwise."""
    output = output.resolve()  # a link stays, and `.` has a name
    folder = output.with_name(output.name + ".partial")
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise UsageError("{folder} is in the way.", folder=folder) from error
    try:
        yield folder
        if output.exists():
            output.rmdir()  # it is empty
        folder.rename(output)
    except OSError as error:
        raise refused(
            error,
            Sentence(
                "{output} could not be written: {reason}.",
                output=output.name,
                reason=system_reason(error),
            ),
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _planned_bytes(checkpoint: Checkpoint, plan: ExportPlan) -> int:
    """The native size, and what linears gain that become dense."""
    gained = sum(
        record.shape[0] * record.shape[1] * plan.dtype.itemsize
        for name, record in checkpoint.manifest.linears.items()
        if record.quant is not None and name not in plan.grids
    )
    return checkpoint.total_bytes + gained
