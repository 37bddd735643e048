"""Variants of gemv.cu, its arguments and its launch, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from kernels.cuda.build import ModuleSource
from kernels.cuda.pack import STEP_COLUMNS, TILE_ROWS

MAX_TOKENS = 8
_WARP = 32
_PADDING = 8  # halfs between the tokens of staged activations, as in gemv.cu
_WIDEST_GROUP = 128
_ROW_SHIFT = 30  # more groups than any row has
_STATIC_SHARED_BYTES = 16 << 10
MAX_SHARED_BYTES = (99 << 10) - _STATIC_SHARED_BYTES  # of a block on sm_86, less the static part


class Input(IntEnum):
    """What the activations are, and what is done to them first; as in gemv.cuh."""

    HALFS = 0
    FLOATS = 1
    RMS_NORM = 2
    LAYER_NORM = 3


class Activation(IntEnum):
    """As in gemv.cuh."""

    SILU = 0
    GELU = 1
    GELU_TANH = 2
    SIGMOID = 3
    CLAMPED_SWIGLU = 4


class Epilogue(IntEnum):
    """What is done with the result; as in gemv.cuh."""

    STORE_HALF = 0
    STORE_FLOAT = 1
    ACTIVATE = 2
    GATE = 3
    GATE_WITH = 4
    ADD_TO_RESIDUAL = 5
    LOGITS = 6


class Scheme(IntEnum):
    """What a code means: (q - 2^(bits - 1)) s, (q - z) s or q s + b."""

    SYM = 0
    ZERO = 1
    AFFINE = 2


class ValueType(IntEnum):
    """How scales and biases are stored."""

    FP16 = 0
    FP32 = 1
    TWO_LEVEL_U8 = 2
    TWO_LEVEL_I8 = 3


# The fields of GemvArgs (gemv.cuh), in order; pointers are addresses on the device.
GEMV_ARGS = np.dtype(
    [
        *((name, np.uintp) for name in (
            "codes", "scales", "super_scales", "biases", "super_biases", "zeros", "perm", "bias",
            "x", "norm_weight", "norm_bias", "other", "out", "block_max", "block_argmax",
        )),
        *((name, np.int32) for name in (
            "out_features", "in_features", "x_stride", "out_stride", "num_steps", "num_groups",
            "num_supers",
            "group_shift", "num_tokens", "chunk_steps", "input", "epilogue", "activation",
        )),
        *((name, np.float32) for name in (
            "eps", "multiplier", "softcap", "swiglu_limit", "swiglu_alpha",
        )),
        *((name, np.uintp) for name in ("visit_matrices", "visit_pairs", "matrix_places")),
        ("pairs_per_row", np.int32),
    ],
    align=True,
)  # fmt: skip


def variant_group(group_size: int) -> int:
    """The variant's group for a linear's group size (-1: a row)."""
    return group_size if 0 < group_size < _WIDEST_GROUP else _WIDEST_GROUP


def group_shift(group_size: int) -> int:
    """log2 of how many groups of the variant make one of the linear's."""
    if group_size < 0:
        return _ROW_SHIFT
    return max(0, (group_size // _WIDEST_GROUP).bit_length() - 1)


@dataclass(frozen=True, slots=True)
class GemvVariant:
    """One compiled form of gemv.cu: 16 bits means dense halfs without scales; a `group` of 128
    stands for all wider ones too, whose groups are found by `group_shift`; `is_stack` reads one
    of many matrices in each row of the grid."""

    bits: int
    scheme: Scheme = Scheme.SYM
    group: int = 128
    scale_type: ValueType = ValueType.FP16
    bias_type: ValueType = ValueType.FP16
    tokens: int = 1
    row_tiles: int = 2
    k_slices: int = 4
    is_stack: bool = False

    @property
    def source(self) -> ModuleSource:
        """What is compiled."""
        macros = {
            "TOKENS": self.tokens,
            "ROW_TILES": self.row_tiles,
            "K_SLICES": self.k_slices,
            "EXPERTS": int(self.is_stack),
        }
        return ModuleSource("gemv.cu", (*self.layout_macros, *_texts(macros)))

    @property
    def layout_macros(self) -> tuple[tuple[str, str], ...]:
        """What a kernel must know to read the matrix."""
        macros = {
            "BITS": self.bits,
            "SCHEME": int(self.scheme),
            "GROUP": self.group,
            "SCALE_TYPE": int(self.scale_type),
            "BIAS_TYPE": int(self.bias_type),
        }
        return _texts(macros)

    @property
    def num_threads(self) -> int:
        """Of a block."""
        return _WARP * self.row_tiles * self.k_slices

    def num_blocks(self, out_features: int) -> int:
        """Of the grid."""
        return -(-out_features // (TILE_ROWS * self.row_tiles))

    def chunk_steps(self, num_steps: int) -> int:
        """Steps of 64 columns whose activations are staged at once: as many as fit, in fours."""
        fitting = (MAX_SHARED_BYTES - 2 * self.tokens * _PADDING) // self._step_bytes
        return min(num_steps, fitting // 4 * 4)

    def shared_bytes(self, chunk_steps: int) -> int:
        """Dynamic shared memory of a block."""
        return chunk_steps * self._step_bytes + 2 * self.tokens * _PADDING

    @property
    def _step_bytes(self) -> int:
        is_affine = self.bits < 16 and self.scheme is Scheme.AFFINE
        sums = 4 * STEP_COLUMNS // self.group if is_affine else 0
        return self.tokens * (2 * STEP_COLUMNS + sums)


def _texts(macros: dict[str, int]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in macros.items())
