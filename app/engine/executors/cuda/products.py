"""How matrices are multiplied with a batch's rows: the launches that one product takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.engine.executors.cuda.launcher import Launch, fill
from app.engine.executors.cuda.matrices import DeviceMatrix
from kernels.cuda.gemv import GEMV_ARGS, MAX_TOKENS


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
        )


def product_argument(matrix: DeviceMatrix, num_rows: int, **fields: Any) -> Any:
    """GemvArgs of a product; rows of the result stand close unless told otherwise."""
    defaults = {"num_tokens": num_rows, "out_stride": matrix.shape[0], "multiplier": 1.0}
    return fill(GEMV_ARGS, **{**defaults, **matrix.fields, **fields})
