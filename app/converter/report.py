"""The quality report of a conversion: an event for listeners, Markdown and JSON in the checkpoint.

Neither file names paths or times: the same source gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from math import prod

from app.checkpoint.layout import file_stem, stored_bytes
from app.checkpoint.manifest import LinearRecord, Manifest
from app.checkpoint.schemes import TensorPath
from app.converter.grids import ERROR_LIMITS, GridPlan
from app.core.conversion_events import ConversionPlan, ConversionReport, PartReport, TensorReport
from app.core.memory import peak_rss_bytes
from app.core.sentence import Sentence

MARKDOWN_NAME, JSON_NAME = "conversion_report.md", "conversion_report.json"


def create_report(
    plan: ConversionPlan,
    manifest: Manifest,
    tensors: tuple[TensorReport, ...],
    notes: tuple[str, ...],
    seconds: float,
) -> ConversionReport:
    """The report of a finished conversion; `notes` are the plan's and what came up on the way."""
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
        notes=notes,
        grid=plan.grid,
        parts=create_part_reports(tensors),
    )


def create_tensor_reports(
    records: Mapping[str, LinearRecord], names: list[str]
) -> tuple[TensorReport, ...]:
    """One row a linear, in the order of `names`."""
    return tuple(_tensor_report(name, records[name]) for name in names)


def create_part_reports(tensors: tuple[TensorReport, ...]) -> tuple[PartReport, ...]:
    """One row for each file of the checkpoint that has linears, in the order of `tensors`."""
    parts: dict[str, list[TensorReport]] = {}
    for tensor in tensors:
        parts.setdefault(file_stem(tensor.name), []).append(tensor)
    return tuple(
        PartReport(
            part=part,
            paths=tuple(sorted({tensor.path for tensor in members})),
            rel_err_mean=sum(tensor.rel_err for tensor in members) / len(members),
            rel_err_max=max(tensor.rel_err for tensor in members),
            output_bytes=sum(tensor.output_bytes for tensor in members),
        )
        for part, members in parts.items()
    )


def outcome_notes(
    plans: Mapping[str, GridPlan], records: Mapping[str, LinearRecord]
) -> tuple[str, ...]:
    """What the plan could not know: linears that got more bits, and folded column orders."""
    grown = [name for name, plan in plans.items() if _has_grown(plan, records[name])]
    folded = [name for name, record in records.items() if record.provenance.row_order]
    notes = []
    if grown:
        notes.append(
            Sentence(
                "Stored at more bits than asked for, where fewer cost more than {limit_3:.0%} at "
                "3 bits or {limit_4:.0%} at 4 bits: {grown}.",
                limit_3=ERROR_LIMITS[3],
                limit_4=ERROR_LIMITS[4],
                grown=", ".join(grown),
            )
        )
    if folded:
        # Every MLP has an up_proj, most a gate_proj beside it.
        num_mlps = sum(name.endswith("up_proj") for name in folded)
        feeding = "up_proj" if num_mlps == len(folded) else Sentence("gate_proj and up_proj")
        notes.append(
            Sentence(
                "In {num_mlps} MLPs the rows of {feeding} stand in the column order of "
                "down_proj (act-order); they compute the same function.",
                num_mlps=num_mlps,
                feeding=feeding,
            )
        )
    return tuple(notes)


def render_markdown(
    plan: ConversionPlan, tensors: tuple[TensorReport, ...], notes: tuple[str, ...]
) -> str:
    """The report for people."""
    layers = [
        f"| {row.part} | {', '.join(row.paths)} | {row.rel_err_mean:.3g} "
        f"| {row.rel_err_max:.3g} | {row.output_bytes:,} |"
        for row in create_part_reports(tensors)
    ]
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
            *(f"- {note}" for note in notes),
            "",
            "| layer | paths | mean relative error | largest | bytes |",
            "|---|---|---|---|---|",
            *layers,
            "",
            "| tensor | source | path | stored as | relative error | bytes |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def render_json(
    plan: ConversionPlan, tensors: tuple[TensorReport, ...], notes: tuple[str, ...]
) -> str:
    """The report for programs."""
    document = {
        "name": plan.name,
        "architecture": plan.architecture,
        "format": plan.format,
        "grid": plan.grid,
        "rel_err_max": max(tensor.rel_err for tensor in tensors),
        "notes": list(notes),
        "layers": [asdict(row) for row in create_part_reports(tensors)],
        "tensors": [asdict(tensor) for tensor in tensors],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _has_grown(plan: GridPlan, record: LinearRecord) -> bool:
    return bool(plan.quant and record.quant and record.quant.bits > plan.quant.bits)


def _verdict(tensors: tuple[TensorReport, ...]) -> str:
    largest = max(tensors, key=lambda tensor: tensor.rel_err)
    if largest.rel_err == 0:
        return Sentence("Lossless: every tensor decodes bit for bit to what the source decodes to.")
    return Sentence(
        "Largest relative error: {rel_err:.3g} ({tensor}).",
        rel_err=largest.rel_err,
        tensor=largest.name,
    )


def _tensor_report(name: str, record: LinearRecord) -> TensorReport:
    origin = record.provenance
    target = record.quant.label if record.quant else str(record.dtype)
    # As manifest.json keeps it, so that a resumed conversion reports the same digits.
    rel_err = float(f"{origin.rel_err:.6g}")
    return TensorReport(
        name, origin.source_type, origin.path.value, target, rel_err, _num_bytes(record)
    )


def _num_bytes(record: LinearRecord) -> int:
    if record.quant is None:
        itemsize = 4 if record.dtype == "float32" else 2
        return prod(record.shape) * itemsize
    return stored_bytes(record.quant, record.shape)
