"""The quality report of a conversion: from the manifest's records, and as Markdown."""

from __future__ import annotations

from math import prod

from app.checkpoint.layout import stored_bytes
from app.checkpoint.manifest import LinearRecord, Manifest
from app.checkpoint.schemes import TensorPath
from app.core.events import ConversionPlan, ConversionReport, TensorReport
from app.core.memory import peak_rss_bytes


def create_report(
    plan: ConversionPlan, manifest: Manifest, names: list[str], seconds: float
) -> ConversionReport:
    """The report; `names` gives the order of the tensors."""
    tensors = tuple(_tensor_report(name, manifest.linears[name]) for name in names)
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
