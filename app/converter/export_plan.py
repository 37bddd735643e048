"""Decides how each linear of a native checkpoint is exported: on a grid, or dense and why.

Engines fuse q, k, v and gate, up, and want embeddings and lm_head dense: so a fused set shares one
grid or has none. What a target does not hold exactly is written dense, and the reason is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from app.checkpoint.layout import BF16, F16
from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import effective_scales
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.converter.export_grid import ExportGrid, common_grid, grid_of
from app.core.errors import UnsupportedError
from app.core.sentence import Sentence
from app.spec.weights import VOCABULARY_LINEARS

_FUSED_SETS = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))
_WORD_BITS = 32
_MIN_GROUP = 32


class ExportFormat(StrEnum):
    """What engines of other makers load."""

    COMPRESSED_TENSORS = "compressed-tensors"
    GPTQ = "gptq"


# vLLM's kernels for each (its model_executor/layers/quantization: compressed_tensors' WNA16 scheme
# and gptq); compressed-tensors 0.20 no longer knows columns out of order.
_BITS = {ExportFormat.COMPRESSED_TENSORS: (4, 8), ExportFormat.GPTQ: (3, 4, 8)}


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """`grids` by canonical name: what is not in it is written dense, in its own dtype or `dtype`.

    `dtype` is that of the scales and of the exported model: engines round scales to it.
    `stores_zero_less_one`: GPTQ's older and wider known convention.
    """

    format: ExportFormat
    dtype: np.dtype[Any]
    grids: Mapping[str, ExportGrid]
    has_order: bool
    stores_zero_less_one: bool
    notes: tuple[str, ...]


def fused_names(name: str) -> tuple[str, ...]:
    """The linears that engines fuse with `name`, itself included."""
    parent, _, short = name.rpartition(".")
    members = next((names for names in _FUSED_SETS if short in names), (short,))
    return tuple(f"{parent}.{member}" if parent else member for member in members)


def plan_export(checkpoint: Checkpoint, format: ExportFormat) -> ExportPlan:
    """Raises UnsupportedError, with the reasons, when no linear stays quantized."""
    linears = {
        name: checkpoint.linear(name)
        for name, record in checkpoint.manifest.linears.items()
        if record.quant is not None
    }
    obstacles = {name: _obstacle(name, linear, format) for name, linear in linears.items()}
    fitting = {name: linear for name, linear in linears.items() if not obstacles[name]}
    dtype = _choose_dtype(fitting, checkpoint.config)
    for name, linear in fitting.items():
        if not _holds_scales(dtype, linear):
            obstacles[name] = Sentence("{dtype} does not hold all scales", dtype=dtype)
    free = {name: linears[name] for name, obstacle in obstacles.items() if not obstacle}
    obstacles |= dict.fromkeys(_bound(free), Sentence("engines fuse them with such"))
    grids = {name: grid for name in free if (grid := _fused_grid(name, free, obstacles))}
    if not grids:
        raise UnsupportedError(_refusal(checkpoint.dir.name, format, obstacles))
    return ExportPlan(
        format=format,
        dtype=dtype,
        grids=grids,
        has_order=any(linears[name].perm is not None for name in grids),
        stores_zero_less_one=not any(_has_zero_of_zero(linears[name]) for name in grids),
        notes=tuple(_iter_notes(obstacles, dtype)),
    )


def _obstacle(name: str, linear: Linear, format: ExportFormat) -> str:
    """Why the target cannot hold the linear; empty when it can."""
    quant = linear.quant
    assert quant is not None
    if name in VOCABULARY_LINEARS:
        return Sentence("engines load embeddings and lm_head unquantized")
    if quant.scheme is Scheme.AFFINE or quant.scale_dtype is ScaleDtype.TWO_LEVEL:
        return Sentence(
            "no grid of {format} is {scheme} with {scale_dtype} scales",
            format=format,
            scheme=quant.scheme,
            scale_dtype=quant.scale_dtype,
        )
    if quant.bits not in _BITS[format]:
        return Sentence("engines load no {bits} bits from {format}", bits=quant.bits, format=format)
    if linear.perm is not None and format is ExportFormat.COMPRESSED_TENSORS:
        return Sentence("{format} knows no columns out of order; gptq does", format=format)
    if linear.zeros is not None and linear.zeros.max() >= 1 << quant.bits:
        return Sentence("a zero point lies beyond the bits")
    return _obstacle_in_shape(quant, linear.shape)


def _obstacle_in_shape(quant: QuantScheme, shape: tuple[int, int]) -> str:
    if 0 < quant.group_size < _MIN_GROUP:
        return Sentence("engines have no groups of {group_size}", group_size=quant.group_size)
    if quant.group_size > 0 and shape[1] % quant.group_size:
        return Sentence("the last group is short")
    if any(size * quant.bits % _WORD_BITS for size in shape):
        return Sentence("the sizes do not fill words of 32 bits")
    return ""


def _choose_dtype(linears: Mapping[str, Linear], config: Mapping[str, Any]) -> np.dtype[Any]:
    """bfloat16 for a model that is, where it holds every scale; else float16."""
    wanted = config.get("dtype") or config.get("torch_dtype")
    is_bfloat16 = wanted == "bfloat16" and all(_holds_scales(BF16, li) for li in linears.values())
    dtype: np.dtype[Any] = BF16 if is_bfloat16 else F16
    return dtype


def _holds_scales(dtype: np.dtype[Any], linear: Linear) -> bool:
    scales, _ = effective_scales(linear)
    with np.errstate(over="ignore"):
        return bool(np.array_equal(scales.astype(dtype).astype(np.float32), scales))


def _bound(free: Mapping[str, Linear]) -> Iterator[str]:
    """Those of the free linears whose fused set is not free as a whole, or not in one order."""
    for name, linear in free.items():
        for other in fused_names(name):
            if other not in free or not _have_one_order(linear, free[other]):
                yield name
                break


def _have_one_order(first: Linear, second: Linear) -> bool:
    if first.perm is None or second.perm is None:
        return first.perm is second.perm
    return np.array_equal(first.perm, second.perm)


def _fused_grid(
    name: str, free: Mapping[str, Linear], obstacles: Mapping[str, str]
) -> ExportGrid | None:
    if obstacles[name]:
        return None
    schemes = [free[member].quant for member in fused_names(name)]
    return common_grid(grid_of(quant) for quant in schemes if quant is not None)


def _has_zero_of_zero(linear: Linear) -> bool:
    """Which stored less one would be -1."""
    return linear.zeros is not None and not linear.zeros.all()


def _iter_notes(obstacles: Mapping[str, str], dtype: np.dtype[Any]) -> Iterator[str]:
    for reason, count in Counter(filter(None, obstacles.values())).items():
        subject = (
            Sentence("1 quantized linear is")
            if count == 1
            else Sentence("{count} quantized linears are", count=count)
        )
        yield Sentence(
            "{subject} written as {dtype}: {reason}.", subject=subject, dtype=dtype, reason=reason
        )


def _refusal(name: str, format: ExportFormat, obstacles: Mapping[str, str]) -> str:
    reasons = [
        reason for key, reason in obstacles.items() if reason and key not in VOCABULARY_LINEARS
    ]
    why = "; ".join(dict.fromkeys(reasons)) or Sentence("none of its layers is quantized")
    return Sentence(
        "{name} cannot be exported as {format}: {why}; convert it with --grid w4 or w8 first.",
        name=name,
        format=format,
        why=why,
    )
