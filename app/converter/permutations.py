"""Act-order columns: brought to one order, shared where they can be, folded away where exact.

A linear with `perm` needs its input gathered at run time. Nothing that a column means depends on
where it stands, except its group; so every permutation is first brought to a normal form that
depends on the groups alone. Then q, k and v (or gate and up), whose groups were chosen by the same
inputs, have equal permutations and share one gather, and an order that only shuffles columns inside
their groups vanishes.

The input of down_proj is act(gate) * up, element by element: its order is folded into the rows of
gate_proj and up_proj. The input of o_proj is not foldable into the rows of v_proj: each head of
queries weighs its values on its own, so a column may not change its head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
from app.checkpoint.layout import local_name
from app.checkpoint.reference_quant import select_rows, unpacked_codes
from app.checkpoint.schemes import Linear, ScaleDtype
from app.checkpoint.writer import PartLinear

Order = npt.NDArray[np.intp]

_FOLDED, _FEEDING = "down_proj", ("gate_proj", "up_proj")


def settle_permutations(linears: Mapping[str, PartLinear]) -> dict[str, PartLinear]:
    """The linears of one part, by canonical name, with as few permutations as can be."""
    settled = {name: _normalize_part(part) for name, part in linears.items()}
    for name in linears:
        if name.endswith(f".{_FOLDED}"):
            _fold(settled, name.removesuffix(_FOLDED))
    return settled


def normalize(linear: Linear) -> Linear:
    """Columns ascending within each group, groups by their first column; a short last one stays.

    `perm` is dropped when nothing of it is left. Two-level scales belong to places, not to columns;
    such a linear is returned as it is.
    """
    quant, perm = linear.quant, linear.perm
    if quant is None or perm is None or quant.scale_dtype is ScaleDtype.TWO_LEVEL:
        return linear
    size = linear.shape[1] if quant.group_size == -1 else quant.group_size
    columns, groups = _normal_order(perm, size)
    settled = np.asarray(perm[columns], np.int32)
    is_identity = np.array_equal(settled, np.arange(len(perm)))
    return replace(
        linear,
        packed=pack_codes(unpacked_codes(linear)[:, columns], quant.bits),
        scales=_reorder(linear.scales, groups),
        zeros=_reorder(linear.zeros, groups),
        biases=_reorder(linear.biases, groups),
        perm=None if is_identity else settled,
    )


def _normalize_part(part: PartLinear) -> PartLinear:
    if not isinstance(part.linear, Linear) or part.linear.perm is None:
        return part
    return replace(part, linear=normalize(part.linear))


def _normal_order(perm: npt.NDArray[np.int32], size: int) -> tuple[Order, Order]:
    """Which stored column, and which group, comes at each place."""
    starts = range(0, len(perm), size)
    within = [start + np.argsort(perm[start : start + size]) for start in starts]
    num_full = len(perm) // size
    first_columns = np.array([perm[columns[0]] for columns in within[:num_full]], np.intp)
    groups = np.append(np.argsort(first_columns), np.arange(num_full, len(within)))
    return np.concatenate([within[group] for group in groups]), groups


def _reorder(values: npt.NDArray[Any] | None, order: Order) -> npt.NDArray[Any] | None:
    return None if values is None else np.ascontiguousarray(values[:, order])


def _fold(linears: dict[str, PartLinear], prefix: str) -> None:
    """Moves down_proj's order into the rows of what feeds it, unless one of them is streamed.

    `prefix` is that of the MLP: `layers.0.mlp.`, `layers.0.mlp.experts.3.`.
    """
    down = linears[prefix + _FOLDED]
    # An MLP without a gate is fed by up_proj alone.
    feeding = {n: linears[n] for n in (prefix + short for short in _FEEDING) if n in linears}
    if not isinstance(down.linear, Linear) or down.linear.perm is None:
        return
    if not all(isinstance(part.linear, Linear) for part in feeding.values()):
        return
    order = down.linear.perm.astype(np.intp)
    linears[prefix + _FOLDED] = replace(down, linear=replace(down.linear, perm=None))
    for name, part in feeding.items():
        assert isinstance(part.linear, Linear)
        origin = replace(part.provenance, row_order=local_name(prefix + _FOLDED))
        linears[name] = PartLinear(select_rows(part.linear, order), origin)
