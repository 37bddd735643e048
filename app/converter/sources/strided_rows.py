"""Rows of a matrix whose elements do not stand one after the other: PyTorch's views."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.converter.sources.file_rows import Bytes, FileRows
from app.core.errors import InvalidSourceError


@dataclass(frozen=True, slots=True)
class StridedRows(FileRows):
    """Read through a map of the file and made contiguous, a block of rows at a time.

    `row_stride` and `column_stride` are in bytes, `item_bytes` is the size of an element.
    """

    row_stride: int = 0
    column_stride: int = 0
    item_bytes: int = 1

    def _read(self, start: int, stop: int) -> Bytes:
        count, columns = stop - start, self.row_bytes // self.item_bytes
        shape = (count, columns, self.item_bytes)
        strides = (self.row_stride, self.column_stride, 1)
        span = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
        try:
            data = np.memmap(
                self.path, np.uint8, "r", self.offset + start * self.row_stride, (span,)
            )
        except (OSError, ValueError) as error:
            raise InvalidSourceError(
                "{name}: cannot be read, or became shorter.",
                name=self.path.name,
                detail=repr(error),
            ) from error
        view = np.lib.stride_tricks.as_strided(data, shape, strides, writeable=False)
        return np.array(view, np.uint8, order="C", subok=False).reshape(count, self.row_bytes)
