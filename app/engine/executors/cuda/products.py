"""How matrices are multiplied with a batch's rows: the launches that one product takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.engine.executors.cuda.launcher import Buffer, Launch, fill
from app.engine.executors.cuda.matrices import DeviceMatrix
from kernels.cuda.build import ModuleSource
from kernels.cuda.gemm import (
    ARRANGE_ARGS,
    ARRANGE_THREADS,
    COPY_HALFS,
    GEMM_ARGS,
    GEMM_THREADS,
    GemmVariant,
    padded_stride,
    token_block,
)
from kernels.cuda.gemv import GEMV_ARGS, MAX_TOKENS, Input

_HALF_BYTES = 2
_ARRANGE_SOURCE = ModuleSource("arrange.cu")


class Products(ABC):
    """The kernels of one kind of step."""

    @abstractmethod
    def multiply(self, matrix: DeviceMatrix, num_rows: int, **fields: Any) -> Iterator[Launch]:
        """`fields` of GemvArgs say what comes in, what is done with it, and where it goes."""


class VectorProducts(Products):
    """Of one to eight rows: gemv.cu, bound by the bytes of the matrix."""

    def multiply(self, matrix: DeviceMatrix, num_rows: int, **fields: Any) -> Iterator[Launch]:
        """One launch; see `Products`."""
        variant = replace(matrix.variant, tokens=1 if num_rows == 1 else MAX_TOKENS)
        chunk_steps = variant.chunk_steps(matrix.fields["num_steps"])
        argument = product_argument(matrix, num_rows, chunk_steps=chunk_steps, **fields)
        yield Launch(
            variant.source,
            "gemv",
            (variant.num_blocks(matrix.shape[0]),),
            (variant.num_threads,),
            argument,
            variant.shared_bytes(chunk_steps),
            walks=True,
        )


class MatrixProducts(Products):
    """Of a chunk's rows, padded to `padded_tokens`: gemm.cu, bound by the tensor cores.

    It reads halfs in the matrix's order of columns, which arrange.cu makes in `arranged` where they
    are not there yet, and sums of them in `sums` (float [groups, rows]) for affine matrices.
    """

    def __init__(self, arranged: Buffer, sums: Buffer) -> None:
        self._arranged, self._sums = arranged, sums
        self._last: tuple[int, ...] = ()

    def multiply(self, matrix: DeviceMatrix, num_rows: int, **fields: Any) -> Iterator[Launch]:
        """One launch, and one before it unless the last product had the same input."""
        variant = GemmVariant(matrix.variant, token_block(matrix.variant, num_rows))
        argument = product_argument(matrix, num_rows, **fields)
        is_ready = _is_ready(argument)
        if not is_ready or variant.sum_columns:
            yield from self._arrange(argument, variant, is_ready)
        else:
            self._last = ()
        if not is_ready:
            argument["x"] = self._arranged.address
            argument["x_stride"] = padded_stride(matrix.shape[1])
        chunk = fill(GEMM_ARGS, product=argument, sums=self._sums, sum_stride=num_rows)
        grid = variant.grid(matrix.shape[0], num_rows)
        yield Launch(variant.source, "gemm", grid, (GEMM_THREADS,), chunk)

    def _arrange(
        self, argument: npt.NDArray[np.void], variant: GemmVariant, is_ready: bool
    ) -> Iterator[Launch]:
        """Between two products with the same x, something else is multiplied when x changes."""
        inputs = ("x", "x_stride", "in_features", "input", "norm_weight", "norm_bias", "perm")
        key = (*(int(argument[name]) for name in inputs), variant.sum_columns)
        if key == self._last:
            return
        self._last = key
        num_rows, stride = int(argument["num_tokens"]), padded_stride(int(argument["in_features"]))
        assert num_rows * stride * _HALF_BYTES <= self._arranged.num_bytes
        arrange = fill(
            ARRANGE_ARGS,
            product=argument,
            halfs=0 if is_ready else self._arranged,
            sums=self._sums if variant.sum_columns else 0,
            stride=stride,
            sum_columns=variant.sum_columns,
            sum_stride=num_rows,
        )
        yield Launch(
            ModuleSource("arrange.cu"), "arrange", (num_rows,), (ARRANGE_THREADS,), arrange
        )


def _is_ready(argument: npt.NDArray[np.void]) -> bool:
    """Whether gemm.cu can read x as it is."""
    is_aligned = not int(argument["x_stride"]) % COPY_HALFS and not int(argument["x"]) % 16
    return bool(argument["input"] == Input.HALFS and not argument["perm"] and is_aligned)


def product_argument(matrix: DeviceMatrix, num_rows: int, **fields: Any) -> npt.NDArray[np.void]:
    """GemvArgs of a product; rows of the result stand close unless told otherwise."""
    defaults = {"num_tokens": num_rows, "out_stride": matrix.shape[0], "multiplier": 1.0}
    return fill(GEMV_ARGS, **{**defaults, **matrix.fields, **fields})
