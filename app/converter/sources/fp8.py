"""FP8 (e4m3) weights with one scale per block, per row or per tensor.

transformers:integrations/finegrained_fp8.py and fbgemm_fp8.py. `weight_scale_inv` MULTIPLIES
despite its name: W = e4m3 * scale in float32, one rounding (the libraries round the result to the
model's dtype); a block of [128, 128] at the edge is cut off, so scales are expanded, then cropped.
e4m3 lies on no uniform grid: no native scheme holds it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from app.checkpoint.layout import FLOATS
from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.file_rows import Bytes
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.converter.sources.quantized_linear import (
    Floats,
    create_quantized_linear,
    load_exponents,
    load_scales,
    share_steps,
)
from app.converter.sources.small_floats import E4M3, E4M3_VALUES
from app.core.errors import InvalidSourceError, UnsupportedError
from app.core.sentence import Sentence

_SCALES = ("weight_scale_inv", "weight_scale")
# Scales of activations and of a quantized KV cache, neither of which a converted model has.
_ACTIVATION_SCALES = (
    ".input_scale",
    ".input_scale_ub",
    ".activation_scale",
    ".output_scale",
    ".q_scale",
    ".k_scale",
    ".v_scale",
)


@dataclass(frozen=True, slots=True)
class Fp8Arrays:
    """`weight`: out * in e4m3 bytes; `scales`: one for each `block` of (rows, columns), or one."""

    weight: StoredArray
    scales: StoredArray
    block: tuple[int, int]


class Fp8Format(LinearFormat):
    """`.weight` e4m3 with `.weight_scale_inv` or `.weight_scale`; the methods fp8, fbgemm_fp8."""

    def __init__(self, declaration: Declaration, folder: Folder) -> None:
        """Raises UnsupportedError or InvalidSourceError for what the declaration asks."""
        self.name, self._folder = declaration.method, folder
        table = declaration.table
        if table.get("weight_scale_semantics") is not None:
            raise UnsupportedError(
                "{name}: FP8 with inverse scales is not supported.", name=folder.name
            )
        self._block = _block_size(table.get("weight_block_size"), folder.name)
        self.notes = activation_notes(folder.tensors)

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        weight = self._folder.tensors.get(f"{stem}.weight")
        has_scale = any(f"{stem}.{suffix}" in tensors for suffix in _SCALES)
        return has_scale or (weight is not None and weight.dtype not in FLOATS)

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        return take_fp8(place, tensors, self._folder, self._block)

    def ignored(self, tensors: Mapping[str, StoredArray]) -> Collection[str]:
        return activation_scales(tensors)


def activation_scales(tensors: Mapping[str, StoredArray]) -> list[str]:
    """The names of scales of activations and of the KV cache."""
    return [name for name in tensors if name.endswith(_ACTIVATION_SCALES)]


def activation_notes(tensors: Mapping[str, StoredArray]) -> tuple[str, ...]:
    """A sentence for the report where such scales are stored."""
    if not activation_scales(tensors):
        return ()
    return (
        Sentence(
            "Scales of quantized activations or of the KV cache are left out: both stay floats."
        ),
    )


def take_fp8(
    place: LinearPlace,
    tensors: TensorClaims[StoredArray],
    folder: Folder,
    block: tuple[int, int] | None = None,
) -> SourceLinear | None:
    """Claims weight and scales; without `block`, one scale per tensor or per row."""
    weight = tensors.take(f"{place.stem}.weight", place.shape)
    suffix = next((s for s in _SCALES if f"{place.stem}.{s}" in tensors), _SCALES[0])
    name = f"{place.stem}.{suffix}"
    scales = tensors.take(name, _scale_shape(place.shape, block, folder.tensors.get(name)))
    if weight is None or scales is None:
        return None
    if weight.dtype != E4M3:
        raise UnsupportedError(
            "{name}: {weight} is {dtype}; of FP8, float8_e4m3fn is read.",
            name=weight.path.name,
            weight=weight.name,
            dtype=weight.dtype,
        )
    rows, columns = block or _block_of(place, scales)
    whole = (min(rows, place.shape[0]), min(columns, place.shape[1]))
    return open_fp8(place, "FP8", Fp8Arrays(weight, scales, whole))


def open_fp8(place: LinearPlace, source_type: str, arrays: Fp8Arrays) -> SourceLinear:
    """A linear whose arrays have the sizes that `Fp8Arrays` asks for."""
    stored = (arrays.weight, arrays.scales)
    rows, blocks = share_steps(
        place.shape,
        partial(_load_scales, arrays, place.shape),
        partial(_decode, place.shape, arrays),
    )
    return create_quantized_linear(place, source_type, stored, rows, iter_dense=blocks)


def _block_size(value: object, name: str) -> tuple[int, int] | None:
    if value is None:
        return None
    is_pair = isinstance(value, Sequence) and len(value) == 2
    if not is_pair or not all(isinstance(size, int) and size > 0 for size in value):  # type: ignore[attr-defined]
        raise InvalidSourceError(
            "{name}: weight_block_size is {value}, not two whole numbers.", name=name, value=value
        )
    return value[0], value[1]  # type: ignore[index]


def _scale_shape(
    shape: tuple[int, int], block: tuple[int, int] | None, found: StoredArray | None
) -> tuple[int, ...]:
    """What the scales' shape must be: with blocks one, else whichever allowed one is found."""
    if block is not None:
        return -(-shape[0] // block[0]), -(-shape[1] // block[1])
    allowed: tuple[tuple[int, ...], ...] = ((shape[0], 1), (shape[0],), (), (1,), (1, 1))
    return found.shape if found is not None and found.shape in allowed else allowed[0]


def _block_of(place: LinearPlace, scales: StoredArray) -> tuple[int, int]:
    is_single = all(size == 1 for size in scales.shape)
    return (place.shape[0] if is_single else 1), place.shape[1]


def _load_scales(arrays: Fp8Arrays, shape: tuple[int, int]) -> Floats:
    """float32 [ceil(out / rows), ceil(in / columns)]."""
    is_float = arrays.scales.dtype in FLOATS
    scales = (load_scales if is_float else load_exponents)(arrays.scales)
    return scales.reshape(-1, -(-shape[1] // arrays.block[1]))


def _decode(shape: tuple[int, int], arrays: Fp8Arrays, scales: Floats, rows: slice) -> Floats:
    block_rows, block_columns = arrays.block
    codes = arrays.weight.split_rows(shape[0]).read_rows(rows)
    _check_no_nan(codes, arrays.weight)
    of_row = scales[np.arange(rows.start, rows.stop) // block_rows]
    expanded = np.repeat(of_row, block_columns, axis=1)[:, : shape[1]]
    weight = np.take(E4M3_VALUES, codes, mode="clip")
    weight *= expanded
    return weight


def _check_no_nan(codes: Bytes, weight: StoredArray) -> None:
    if (codes & np.uint8(0x7F) == 0x7F).any():
        raise InvalidSourceError(
            "{name}: {weight} is damaged: it holds a weight that is NaN.",
            name=weight.path.name,
            weight=weight.name,
        )
