"""A Hugging Face folder's files: JSON, weight files, and the headers of their tensors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.tensor_file import TensorFile
from app.converter.sources.file_rows import FileRows
from app.core.errors import CheckpointError, InvalidSourceError, UnsupportedError
from app.spec.gguf_header import LFS_POINTER_START

_INDEX, _SINGLE = "model.safetensors.index.json", "model.safetensors"


@dataclass(frozen=True, slots=True)
class StoredArray:
    """A tensor of a safetensors file; `offset` from the start of the file."""

    name: str
    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int

    @property
    def num_bytes(self) -> int:
        """Bytes on disk."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    @property
    def rows(self) -> FileRows:
        """As a matrix; a vector is one row."""
        return self.split_rows(self.shape[0] if len(self.shape) == 2 else 1)

    def split_rows(self, num_rows: int) -> FileRows:
        """The same bytes as `num_rows` equal rows, whatever the shape says."""
        return FileRows(self.path, self.offset, num_rows, self.num_bytes // num_rows)

    def load(self) -> npt.NDArray[Any]:
        """The whole array in its own shape and dtype."""
        return self.rows.read().view(self.dtype).reshape(self.shape)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; InvalidSourceError naming the file otherwise."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSourceError(f"{path.name} cannot be read.", detail=repr(error)) from error
    if not isinstance(values, dict):
        raise InvalidSourceError(f"{path.name} does not hold a JSON object.")
    return values


def find_weight_files(path: Path) -> tuple[Path, ...]:
    """The files of the index, or the single one; InvalidSourceError names one that is missing."""
    if (path / _INDEX).is_file():
        weight_map = read_json(path / _INDEX).get("weight_map")
        if not isinstance(weight_map, dict):
            raise InvalidSourceError(f"{_INDEX} has no weight_map.")
        names = sorted({str(name) for name in weight_map.values()})
    elif not (path / _SINGLE).is_file() and any(path.glob("*.bin")):
        raise UnsupportedError(f"{path.name}: PyTorch pickle files (.bin) are not supported.")
    else:
        names = [_SINGLE]
    for name in names:
        if Path(name).name != name or not (path / name).is_file():
            raise InvalidSourceError(f"{path.name}: the file {name} is missing.")
    return tuple(path / name for name in names)


def read_headers(files: tuple[Path, ...]) -> dict[str, StoredArray]:
    """All tensors by name; InvalidSourceError for a damaged file, or a name in two of them."""
    tensors: dict[str, StoredArray] = {}
    for path in files:
        for name, array in _read_header(path).items():
            if name in tensors:
                raise InvalidSourceError(
                    f"{path.name}: {name} also stands in {tensors[name].path.name}."
                )
            tensors[name] = array
    return tensors


def lfs_pointer_error(path: Path) -> InvalidSourceError:
    """For a file that only names what Git LFS would have fetched."""
    return InvalidSourceError(
        f"{path.name}: this is a Git LFS pointer, not the model itself; download the real file."
    )


def _read_header(path: Path) -> dict[str, StoredArray]:
    with path.open("rb") as stream:
        if stream.read(len(LFS_POINTER_START)) == LFS_POINTER_START:
            raise lfs_pointer_error(path)
    try:
        file = TensorFile(path)
    except CheckpointError as error:
        raise InvalidSourceError(error.message, detail=error.detail) from error
    try:
        return {
            name: StoredArray(name, path, entry.dtype, entry.shape, entry.offset)
            for name, entry in file.entries.items()
        }
    finally:
        file.close()
