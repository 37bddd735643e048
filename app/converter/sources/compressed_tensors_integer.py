"""Integer weights of compressed-tensors, packed into words or one int8 each, in native form.

compressed-tensors:compressors/{pack_quantized,naive_quantized}/base.py. W = (q - z) * s in float32
from the stored scales; the library computes in the dtype of the scales, so its bfloat16 result is
this one rounded once. Packed codes and zero points are stored as q + 2 ** (bits - 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
from app.checkpoint.layout import I8, check_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.converter.sources.bitstream import unpack_dense, unpack_padded
from app.converter.sources.file_rows import Bytes, rows_per_block
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.native_grid import flip_sign_bits, to_native_groups
from app.converter.sources.quantized_linear import load_scales, narrow_scales
from app.core.errors import InvalidSourceError


class Storage(Enum):
    """How codes lie in the file: a bitstream, whole codes a word, or one int8 each."""

    DENSE = "dense"
    PADDED = "padded"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class IntegerArrays:
    """A linear [out, in], not read yet, with a scale for each `group_size` columns.

    weight   int32 [out, words of in] or int8 [out, in]
    scales   float: one for the tensor, each row, or each group of each row
    zeros    int32 [words of out, G], or int8 like the scales; None for a symmetric grid
    order    int32 [in]: the columns sorted by their group; None where they are in order
    """

    shape: tuple[int, int]
    bits: int
    group_size: int
    storage: Storage
    weight: StoredArray
    scales: StoredArray
    zeros: StoredArray | None
    order: npt.NDArray[np.int32] | None

    @property
    def stem(self) -> str:
        """The linear's name in the folder."""
        return self.weight.name.rpartition(".")[0]

    @property
    def centre(self) -> int:
        """What unsigned codes are shifted by."""
        return 1 << (self.bits - 1)

    @property
    def num_groups(self) -> int:
        """Groups in a row."""
        return self.shape[1] // self.group_size


def load_native(arrays: IntegerArrays, quant: QuantScheme) -> Linear:
    """The linear in `quant`, or with float16 scales where they hold all of them.

    Raises InvalidSourceError for scales that are not finite and codes beyond their bits.
    """
    scales, zeros = load_scales(arrays.scales), _load_zeros(arrays)
    linear = Linear(
        arrays.shape,
        QuantScheme(quant.bits, quant.group_size, quant.scheme, ScaleDtype.FP32),
        packed=_pack(arrays, quant),
        scales=_spread(arrays, scales),
        zeros=None if zeros is None else _spread(arrays, zeros),
        perm=arrays.order,
    )
    check_linear(arrays.stem, linear)
    return narrow_scales(linear)


def per_group(arrays: IntegerArrays, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """[out, G] of values for the tensor, each row, or each group."""
    shape = (arrays.shape[0], arrays.num_groups)
    return np.broadcast_to(values.reshape((1, 1) if values.size == 1 else shape), shape)


def _spread(arrays: IntegerArrays, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return to_native_groups(per_group(arrays, values), arrays.group_size, arrays.shape[1])


def _pack(arrays: IntegerArrays, quant: QuantScheme) -> Bytes:
    columns = arrays.shape[1]
    packed = np.empty((arrays.shape[0], quant.row_bytes(columns)), np.uint8)
    pack = _pack_bytes if _is_native_stream(arrays, quant) else _pack_codes
    for rows, raw in arrays.weight.rows.iter_blocks(rows_per_block(columns)):
        packed[rows] = pack(arrays, quant, raw)
    return packed


def _is_native_stream(arrays: IntegerArrays, quant: QuantScheme) -> bool:
    """Whether each row's bytes are a native row, but perhaps for the codes' top bits."""
    stored_bits = 8 if arrays.storage is Storage.BYTES else arrays.bits
    has_gaps = arrays.storage is Storage.PADDED or arrays.shape[1] * arrays.bits % 8 != 0
    return arrays.order is None and stored_bits == arrays.bits == quant.bits and not has_gaps


def _pack_bytes(arrays: IntegerArrays, quant: QuantScheme, raw: Bytes) -> Bytes:
    packed = raw[:, : quant.row_bytes(arrays.shape[1])]
    is_signed = arrays.storage is Storage.BYTES
    return (
        packed if is_signed is (quant.scheme is Scheme.SYM) else flip_sign_bits(packed, arrays.bits)
    )


def _pack_codes(arrays: IntegerArrays, quant: QuantScheme, raw: Bytes) -> Bytes:
    codes = _unsigned_codes(arrays, raw)
    if arrays.order is not None:
        codes = np.take(codes, arrays.order, axis=1)
    if quant.scheme is Scheme.SYM:
        codes = codes - np.uint8(arrays.centre)
    return pack_codes(np.ascontiguousarray(codes), quant.bits)


def _unsigned_codes(arrays: IntegerArrays, raw: Bytes) -> Bytes:
    if arrays.storage is Storage.BYTES:
        return _shift(arrays, raw.view(np.int8), arrays.weight)
    return _unpack(arrays, raw.view(np.uint32), arrays.shape[1])


def _unpack(arrays: IntegerArrays, words: npt.NDArray[np.uint32], count: int) -> Bytes:
    unpack = unpack_padded if arrays.storage is Storage.PADDED else unpack_dense
    return unpack(words, arrays.bits, count)


def _load_zeros(arrays: IntegerArrays) -> Bytes | None:
    """Unsigned zero points, [out, G] or of the scales' shape."""
    if arrays.zeros is None:
        return None
    stored = arrays.zeros.load()
    if stored.dtype == I8:
        return _shift(arrays, stored, arrays.zeros)
    words = np.ascontiguousarray(stored.T).view(np.uint32)
    return _unpack(arrays, words, arrays.shape[0]).T


def _shift(arrays: IntegerArrays, values: npt.NDArray[np.int8], stored: StoredArray) -> Bytes:
    """Signed to unsigned; refused where the bits do not hold them."""
    shifted = values.astype(np.int16) + arrays.centre
    if shifted.min() < 0 or shifted.max() >= 1 << arrays.bits:
        raise InvalidSourceError(
            "{name}: {stored} holds a value that has no {bits} bits.",
            name=stored.path.name,
            stored=stored.name,
            bits=arrays.bits,
        )
    return shifted.astype(np.uint8)
