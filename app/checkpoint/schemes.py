"""How a linear is stored: scheme, bits, groups, and the arrays that belong to them.

Codes are a little-endian bitstream along `in` (4 bits: the low nibble is the even column; 3 bits: 8
codes in 3 bytes), each row padded to whole bytes. A row has G = ceil(in / group) groups, the last
one possibly short; group -1 means one group a row. Decoding is defined in float32, each operation
rounded once (no FMA):

    sym     q * s                 q is a two's-complement code
    zero    (q - z) * s           q unsigned, z uint8
    affine  q * s + b             q unsigned
    two_level scales: s = super_scale * scale_code (likewise b), one super value per 256 columns
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from app.core.errors import CheckpointError

SUPER_GROUP = 256
ALLOWED_BITS = (3, 4, 8)
ALLOWED_GROUPS = (16, 32, 64, 128, -1)
# What grids of fewer bits keep for embeddings and lm_head. Measured on the starter model, w4 in
# groups of 64: perplexity 39.9 with the embedding at 4 bits, 32.4 with it at 8 (source: 24.4).
VOCABULARY_BITS = 8
ARRAY_NAMES = (
    "weight",
    "packed",
    "scales",
    "zeros",
    "biases",
    "super_scales",
    "super_biases",
    "perm",
    "bias",
)


class Scheme(StrEnum):
    """What a code means."""

    SYM = "sym"
    ZERO = "zero"
    AFFINE = "affine"


class ScaleDtype(StrEnum):
    """How scales (and biases) are stored."""

    FP16 = "fp16"
    FP32 = "fp32"
    TWO_LEVEL = "two_level"


class TensorPath(StrEnum):
    """How a tensor came here: bit for bit, on the source's grid, by error search, unquantized."""

    EXACT = "exact"
    GRID = "grid"
    REQUANT = "requant"
    DENSE = "dense"


@dataclass(frozen=True, slots=True)
class QuantScheme:
    """bits x group x scheme x scale dtype: everything a kernel needs to read the arrays."""

    bits: int
    group_size: int
    scheme: Scheme
    scale_dtype: ScaleDtype

    def __post_init__(self) -> None:
        if self.bits not in ALLOWED_BITS:
            raise CheckpointError(
                "{bits} bits are not a native width; native are 3, 4 and 8.", bits=self.bits
            )
        if self.group_size not in ALLOWED_GROUPS:
            raise CheckpointError(
                "{group_size} is not a native group size.", group_size=self.group_size
            )
        if self.scale_dtype is ScaleDtype.TWO_LEVEL and self.group_size == -1:
            raise CheckpointError("Two-level scales need a group size of 16, 32, 64 or 128.")

    @property
    def label(self) -> str:
        """For people: `int4 affine g32`."""
        two_level = " two-level" if self.scale_dtype is ScaleDtype.TWO_LEVEL else ""
        group = "row" if self.group_size == -1 else f"g{self.group_size}"
        return f"int{self.bits} {self.scheme} {group}{two_level}"

    def num_groups(self, in_features: int) -> int:
        """Groups in a row of `in_features` columns."""
        return 1 if self.group_size == -1 else -(-in_features // self.group_size)

    def num_super_groups(self, in_features: int) -> int:
        """Super values in a row of `in_features` columns (two-level only)."""
        return -(-in_features // SUPER_GROUP)

    def row_bytes(self, in_features: int) -> int:
        """Bytes of packed codes in a row."""
        return -(-in_features * self.bits // 8)


@dataclass(frozen=True, slots=True)
class Linear:
    """A weight matrix [out, in], quantized (`quant` and `packed` set) or dense (`weight` set).

    packed        uint8 [out, row_bytes]
    scales        float16 | float32 [out, G]; int8 | uint8 codes when two-level
    zeros         uint8 [out, G]
    biases        as scales
    super_scales  float16 [out, ceil(in / 256)], likewise super_biases
    perm          int32 [in]: stored column c belongs to input perm[c]
    bias          float [out], the layer's own bias
    weight        float32 | float16 | bfloat16 [out, in]
    """

    shape: tuple[int, int]
    quant: QuantScheme | None = None
    weight: npt.NDArray[Any] | None = None
    packed: npt.NDArray[np.uint8] | None = None
    scales: npt.NDArray[Any] | None = None
    zeros: npt.NDArray[np.uint8] | None = None
    biases: npt.NDArray[Any] | None = None
    super_scales: npt.NDArray[np.float16] | None = None
    super_biases: npt.NDArray[np.float16] | None = None
    perm: npt.NDArray[np.int32] | None = None
    bias: npt.NDArray[Any] | None = None

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that are set, by field name (which is also their suffix on disk)."""
        found = {name: getattr(self, name) for name in ARRAY_NAMES}
        return {name: array for name, array in found.items() if array is not None}

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())
