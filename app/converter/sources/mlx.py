"""MLX: affine groups in 32-bit words, also embeddings; and its fp4 and fp8 modes.

ml-explore/mlx:mlx/backend/cpu/quantized.cpp (affine: codes are a little-endian bitstream along
`in`, W = s * q + b) and mlx-lm:utils.py (`quantization` of config.json, overrides by path). MLX
computes in the dtype of its scales (bf16 or fp16); here s * q + b is float32, each step rounded
once, so that MLX's own matrix is ours rounded to that dtype.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from app.checkpoint.bits import pack_codes
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.converter.sources.base import SourceLinear
from app.converter.sources.bitstream import unpack_dense, unpack_floats
from app.converter.sources.claims import TensorClaims
from app.converter.sources.fp4 import Fp4Arrays, open_fp4
from app.converter.sources.fp8 import Fp8Arrays, open_fp8
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.converter.sources.native_grid import native_bits
from app.converter.sources.quantized_linear import (
    Floats,
    create_quantized_linear,
    load_scales,
    narrow_scales,
)
from app.core.errors import InvalidSourceError, UnsupportedError

_AFFINE_BITS = (2, 3, 4, 5, 6, 8)
_GROUPS = (32, 64, 128)
_EXPERT = re.compile(r"\.experts\.\d+\.")
_FLOAT_MODES = {"mxfp4": (4, 32), "nvfp4": (4, 16), "mxfp8": (8, 32)}
_U8, _U32 = np.dtype(np.uint8), np.dtype(np.uint32)


def check_mode(declaration: Declaration, name: str) -> None:
    """Raises UnsupportedError for a mode that is not read; `name`: the folder's."""
    mode = declaration.table.get("mode", "affine")
    if mode != "affine" and mode not in _FLOAT_MODES:
        raise UnsupportedError(
            "{name}: the MLX mode {mode} is not supported.", name=name, mode=mode
        )


class MlxFormat(LinearFormat):
    """Every linear with `.scales`; bits and group follow from shapes and must match the config."""

    name = "mlx"

    def __init__(self, declaration: Declaration, folder: Folder) -> None:
        """UnsupportedError for an unknown mode."""
        check_mode(declaration, folder.name)
        self._table, self._folder = declaration.table, folder

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        return f"{stem}.scales" in tensors

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        settings = self._settings(place.stem)
        bits, group = self._measured(place)
        declared = (settings.get("bits"), settings.get("group_size"))
        if declared != (bits, group):
            raise InvalidSourceError(
                "{name}: {stem} is declared with {declared_bits} bits in groups of "
                "{declared_group}, but its shapes mean {bits} bits in groups of {group}.",
                name=self._folder.name,
                stem=place.stem,
                declared_bits=declared[0],
                declared_group=declared[1],
                bits=bits,
                group=group,
            )
        weight, scales = self._take_packed(place, tensors)
        if weight is None or scales is None:
            return None
        mode = str(settings.get("mode", "affine"))
        if mode == "affine":
            biases = tensors.take(f"{place.stem}.biases", scales.shape)
            return None if biases is None else _open_affine(place, weight, scales, biases)
        return _open_float(place, mode, weight, scales)

    def _settings(self, stem: str) -> Mapping[str, Any]:
        """What the configuration says of one linear: its own entry, else the common one.

        Experts share the entry of their stack.
        """
        own = self._table.get(stem) or self._table.get(_EXPERT.sub(".switch_mlp.", stem))
        return {**self._table, **own} if isinstance(own, Mapping) else self._table

    def _measured(self, place: LinearPlace) -> tuple[float, float]:
        """Bits and group size by the shapes of weight and scales; 0 where a shape is no matrix."""
        columns = [self._num_columns(f"{place.stem}.{suffix}") for suffix in ("weight", "scales")]
        if 0 in columns:
            return 0, 0
        return _whole(32 * columns[0] / place.shape[1]), _whole(place.shape[1] / columns[1])

    def _num_columns(self, name: str) -> int:
        stored = self._folder.tensors.get(name)
        return stored.shape[1] if stored is not None and len(stored.shape) == 2 else 0

    def _take_packed(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> tuple[StoredArray | None, StoredArray | None]:
        names = (f"{place.stem}.weight", f"{place.stem}.scales")
        weight, scales = (
            tensors.take(name, (place.shape[0], self._num_columns(name))) for name in names
        )
        if weight is not None and weight.dtype != _U32:
            raise InvalidSourceError(
                "{weight} is {dtype} instead of uint32.", weight=weight.name, dtype=weight.dtype
            )
        return weight, scales


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


def _open_affine(
    place: LinearPlace, weight: StoredArray, scales: StoredArray, biases: StoredArray
) -> SourceLinear:
    bits = 32 * weight.shape[1] // place.shape[1]
    group = place.shape[1] // scales.shape[1]
    if bits not in _AFFINE_BITS or group not in _GROUPS:
        raise UnsupportedError(
            "{weight}: MLX has no {bits} bits in groups of {group}.",
            weight=weight.name,
            bits=bits,
            group=group,
        )
    quant = QuantScheme(native_bits(bits), group, Scheme.AFFINE, ScaleDtype.FP32)
    stored = (weight, scales, biases)
    load = partial(_load_native, quant, bits, place.shape, stored)
    rows = partial(_load_affine_rows, bits, place.shape, stored)
    return create_quantized_linear(place, f"MLX-{bits}", stored, rows, (quant, load))


def _load_native(
    quant: QuantScheme,
    bits: int,
    shape: tuple[int, int],
    stored: tuple[StoredArray, StoredArray, StoredArray],
) -> Linear:
    """MLX's bitstream is the native one; other widths are spread to the next native width."""
    weight, scales, biases = stored
    packed = weight.rows.read()
    if bits != quant.bits:
        packed = pack_codes(unpack_dense(packed.view(np.uint32), bits, shape[1]), quant.bits)
    linear = Linear(
        shape, quant, packed=packed, scales=load_scales(scales), biases=load_scales(biases)
    )
    return narrow_scales(linear)


def _load_affine_rows(
    bits: int,
    shape: tuple[int, int],
    stored: tuple[StoredArray, StoredArray, StoredArray],
    rows: slice,
) -> Floats:
    words, scales, biases = (array.part(rows) for array in stored)
    values = unpack_floats(words.load(), bits, shape[1]).reshape(*scales.shape, -1)
    values *= load_scales(scales)[:, :, None]
    values += load_scales(biases)[:, :, None]
    return values.reshape(words.shape[0], -1)


def _open_float(
    place: LinearPlace, mode: str, weight: StoredArray, scales: StoredArray
) -> SourceLinear:
    bits, group = _FLOAT_MODES[mode]
    measured = (32 * weight.shape[1] // place.shape[1], place.shape[1] // scales.shape[1])
    if measured != (bits, group) or scales.dtype != _U8:
        raise InvalidSourceError(
            "{weight}: {mode} means {bits} bits in groups of {group} with uint8 scales, but it "
            "has {found_bits} bits in groups of {found_group} with {dtype} scales.",
            weight=weight.name,
            mode=mode,
            bits=bits,
            group=group,
            found_bits=measured[0],
            found_group=measured[1],
            dtype=scales.dtype,
        )
    if mode == "mxfp8":
        return open_fp8(place, "MXFP8", Fp8Arrays(weight, scales, (1, group)))
    return open_fp4(place, mode.upper(), Fp4Arrays(weight, scales, group))
