"""The quality report of a conversion: an event for listeners, Markdown in the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from app.checkpoint.layout import stored_bytes
from app.checkpoint.manifest import LinearRecord, Manifest
from app.checkpoint.schemes import TensorPath
from app.core.events import ConversionPlan, ConversionReport, TensorReport
from app.core.memory import peak_rss_bytes

REPORT_NAME = "conversion_report.md"


def create_report(
    plan: ConversionPlan, manifest: Manifest, tensors: tuple[TensorReport, ...], seconds: float
) -> ConversionReport:
    """The report of a finished conversion."""
    counts = {path: sum(t.path == path.value for t in tensors) for path in TensorPath}
    return ConversionReport(
        output=plan.output,
        format=plan.format,
        architecture=plan.architecture,
        lossless=manifest.is_lossless,
        num_exact=counts[TensorPath.EXACT],
        num_grid=counts[TensorPath.GRID],
        num_requant=counts[TensorPath.REQUANT],
        num_dense=counts[TensorPath.DENSE],
        rel_err_max=max(tensor.rel_err for tensor in tensors),
        source_bytes=plan.source_bytes,
        output_bytes=sum(record.num_bytes for record in manifest.files.values()),
        seconds=seconds,
        peak_rss_bytes=peak_rss_bytes(),
        tensors=tensors,
        notes=plan.notes,
    )


def create_tensor_reports(
    records: Mapping[str, LinearRecord], names: list[str]
) -> tuple[TensorReport, ...]:
    """One row a linear, in the order of `names`."""
    return tuple(_tensor_report(name, records[name]) for name in names)


def render_report(plan: ConversionPlan, tensors: tuple[TensorReport, ...]) -> str:
    """The report as Markdown, without paths and times: the same source gives the same text."""
    rows = [
        f"| {t.name} | {t.source_type} | {t.path} | {t.target} | {t.rel_err:.3g} "
        f"| {t.output_bytes:,} |"
        for t in tensors
    ]
    return "\n".join(
        [
            f"# Conversion of {plan.name}",
            "",
            f"{plan.architecture} from {plan.format}, grid {plan.grid}. {_verdict(tensors)}",
            *(f"- {note}" for note in plan.notes),
            "",
            "| tensor | source | path | stored as | relative error | bytes |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _verdict(tensors: tuple[TensorReport, ...]) -> str:
    largest = max(tensors, key=lambda tensor: tensor.rel_err)
    if largest.rel_err == 0:
        return "Lossless: every tensor decodes bit for bit to what the source decodes to."
    return f"Largest relative error: {largest.rel_err:.3g} ({largest.name})."


def _tensor_report(name: str, record: LinearRecord) -> TensorReport:
    origin = record.provenance
    target = record.quant.label if record.quant else str(record.dtype)
    return TensorReport(
        name, origin.source_type, origin.path.value, target, origin.rel_err, _num_bytes(record)
    )


def _num_bytes(record: LinearRecord) -> int:
    if record.quant is None:
        itemsize = 4 if record.dtype == "float32" else 2
        return prod(record.shape) * itemsize
    return stored_bytes(record.quant, record.shape)
