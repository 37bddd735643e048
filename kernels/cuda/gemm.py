"""Variants of gemm.cu, its arguments and those of arrange.cu, as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.cuda.build import ModuleSource
from kernels.cuda.gemv import GEMV_ARGS, GemvVariant, Scheme
from kernels.cuda.pack import STEP_COLUMNS, TILE_ROWS

GEMM_THREADS = 128
ARRANGE_THREADS = 256
TOKEN_BLOCK = 64  # tokens of a block; a chunk is padded to a multiple of the smaller one
SMALL_TOKEN_BLOCK = 32
BLOCK_ROWS = 4 * TILE_ROWS
COPY_HALFS = 8  # rows of activations are read in eights
LEAST_SUM_COLUMNS = 16
_DENSE_BITS = 16
_WIDE_GROUP = 128

# GemmArgs of gemm.cuh.
GEMM_ARGS = np.dtype(
    [("product", GEMV_ARGS), ("sums", np.uintp), ("sum_stride", np.int32)], align=True
)

# ArrangeArgs of gemm.cuh.
ARRANGE_ARGS = np.dtype(
    [
        ("product", GEMV_ARGS),
        *((name, np.uintp) for name in ("halfs", "sums")),
        *((name, np.int32) for name in ("stride", "sum_columns", "sum_stride")),
    ],
    align=True,
)


@dataclass(frozen=True, slots=True)
class GemmVariant:
    """One compiled form of gemm.cu, for the matrices of a form of gemv.cu."""

    matrix: GemvVariant
    tokens: int = TOKEN_BLOCK

    @property
    def source(self) -> ModuleSource:
        """What is compiled."""
        return ModuleSource("gemm.cu", (*self.matrix.layout_macros, ("TOKENS", str(self.tokens))))

    def grid(self, out_features: int, num_tokens: int) -> tuple[int, int]:
        """Blocks of tokens and of rows."""
        return -(-num_tokens // self.tokens), -(-out_features // BLOCK_ROWS)

    @property
    def sum_columns(self) -> int:
        """Columns whose activations are summed for the biases of affine groups; 0: for none."""
        is_affine = self.matrix.bits < _DENSE_BITS and self.matrix.scheme is Scheme.AFFINE
        return min(self.matrix.group, STEP_COLUMNS) if is_affine else 0


def padded_tokens(num_tokens: int) -> int:
    """The length a chunk is padded to, so that few graphs serve all lengths."""
    return -(-num_tokens // SMALL_TOKEN_BLOCK) * SMALL_TOKEN_BLOCK


def token_blocks(matrix: GemvVariant) -> tuple[int, ...]:
    """Tokens of a block, ascending. Three-bit codes in narrow groups, which are decoded for each
    group, need more registers than there are beside the sums of 64 tokens."""
    has_many_groups = matrix.bits == 3 and matrix.group < _WIDE_GROUP
    return (SMALL_TOKEN_BLOCK,) if has_many_groups else (SMALL_TOKEN_BLOCK, TOKEN_BLOCK)


def token_block(matrix: GemvVariant, num_tokens: int) -> int:
    """The largest that divides a padded length."""
    return max(block for block in token_blocks(matrix) if num_tokens % block == 0)


def padded_stride(num_columns: int) -> int:
    """Halfs from row to row of activations."""
    return -(-num_columns // COPY_HALFS) * COPY_HALFS
