"""A Hugging Face folder's files: JSON, and tensors as places in a file."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.converter.sources.base import as_text
from app.converter.sources.file_rows import FileRows
from app.converter.sources.strided_rows import StridedRows
from app.core.errors import InvalidSourceError


@dataclass(frozen=True, slots=True)
class StoredArray:
    """A tensor of a safetensors or .bin file; `offset` from the start of the file.

    `strides` (elements, as many as `shape`, one or two) where the elements are not contiguous.
    """

    name: str
    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...] | None = None

    @property
    def num_bytes(self) -> int:
        """Bytes of all elements."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    @property
    def rows(self) -> FileRows:
        """As a matrix; a vector is one row."""
        return self.split_rows(self.shape[0] if len(self.shape) == 2 else 1)

    def split_rows(self, num_rows: int) -> FileRows:
        """The same bytes as `num_rows` equal rows, whatever the shape says.

        InvalidSourceError for a strided array, whose rows its shape alone can tell.
        """
        row_bytes = self.num_bytes // num_rows
        if self.strides is None:
            return FileRows(self.path, self.offset, num_rows, row_bytes)
        if num_rows != (self.shape[0] if len(self.shape) == 2 else 1):
            raise InvalidSourceError(
                "{name}: {tensor} is not contiguous.", name=self.path.name, tensor=self.name
            )
        row, column = (n * self.dtype.itemsize for n in (0, *self.strides)[-2:])
        return StridedRows(
            self.path,
            self.offset,
            num_rows,
            row_bytes,
            row_stride=row,
            column_stride=column,
            item_bytes=self.dtype.itemsize,
        )

    def part(self, rows: slice) -> StoredArray:
        """Some entries of the first axis."""
        row_bytes = self.num_bytes // self.shape[0]
        if self.strides is not None:
            row_bytes = self.strides[0] * self.dtype.itemsize
        shape = (rows.stop - rows.start, *self.shape[1:])
        return replace(self, shape=shape, offset=self.offset + rows.start * row_bytes)

    def load_columns(self, columns: slice) -> npt.NDArray[Any]:
        """Some columns of a matrix, contiguous, without reading all of the others."""
        if self.strides is not None:
            return np.ascontiguousarray(self.load()[:, columns])
        row_bytes, size = self.num_bytes // self.shape[0], self.dtype.itemsize
        rows = StridedRows(
            self.path,
            self.offset + columns.start * size,
            self.shape[0],
            (columns.stop - columns.start) * size,
            row_stride=row_bytes,
            column_stride=size,
            item_bytes=size,
        )
        return rows.read().view(self.dtype)

    def load(self) -> npt.NDArray[Any]:
        """The whole array in its own shape and dtype."""
        return self.rows.read().view(self.dtype).reshape(self.shape)


def folder_name(path: Path) -> str:
    """The folder's own; of a snapshot in Hugging Face's cache, whose own is a commit, its model's.

    Layout `models--org--name/snapshots/<commit>`: huggingface_hub's guide "Manage the cache".
    """
    path = path.resolve()
    repository = path.parent.parent.name
    is_snapshot = path.parent.name == "snapshots" and repository.startswith("models--")
    return as_text(repository.rpartition("--")[2] if is_snapshot else path.name)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; InvalidSourceError naming the file otherwise."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidSourceError(
            "{name} cannot be read.", name=path.name, detail=repr(error)
        ) from error
    if not isinstance(values, dict):
        raise InvalidSourceError("{name} does not hold a JSON object.", name=path.name)
    return values


def lfs_pointer_error(path: Path) -> InvalidSourceError:
    """For a file that only names what Git LFS would have fetched."""
    return InvalidSourceError(
        "{name}: this is a Git LFS pointer, not the model itself; download the real file.",
        name=path.name,
    )
