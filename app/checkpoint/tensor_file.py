"""One safetensors file: written deterministically with its hash, read as views over a memory map.

Format: u64 little-endian header length, a JSON object {name: {dtype, shape, data_offsets}}, then
the tensors without holes (the safetensors project's README). Ours sorts tensors by falling item
size, then name, so that each one is aligned to its own items, and pads the header with spaces so
that data starts at 64 bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import mmap
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from app.core.cleanup import undone_on_failure
from app.core.errors import CheckpointError
from app.core.jobs import check_cancelled

_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype(np.int64),
    "I32": np.dtype(np.int32),
    "I16": np.dtype(np.int16),
    "I8": np.dtype(np.int8),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
    "U16": np.dtype(np.uint16),
    "U32": np.dtype(np.uint32),
    "U64": np.dtype(np.uint64),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}
_DTYPE_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_ALIGNMENT = 64
_MAX_HEADER_BYTES = 100_000_000  # the safetensors project's own limit
_BLOCK_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file's size and hash."""

    num_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """Where a tensor stands: `offset` counts from the start of the file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class StreamedArray:
    """An array too large to hold: `iter_blocks` gives its rows from first to last, in `dtype`."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    iter_blocks: Callable[[], Iterator[npt.NDArray[Any]]]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the whole."""
        return math.prod(self.shape) * self.itemsize


Storable = npt.NDArray[Any] | StreamedArray


def hash_file(path: Path, on_read: Callable[[int], None] = lambda num_bytes: None) -> FileRecord:
    """Size and sha256 of a file; `on_read` hears the size of each block."""
    digest, num_bytes = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            check_cancelled()
            digest.update(block)
            num_bytes += len(block)
            on_read(len(block))
    return FileRecord(num_bytes, digest.hexdigest())


def write_blocks(path: Path, blocks: Iterable[Any]) -> FileRecord:
    """Writes bytes-like blocks aside, forces them to disk, renames: `path` is whole or absent.

    JobCancelledError between two blocks.
    """
    aside = path.with_name(path.name + ".partial")
    digest, num_bytes = hashlib.sha256(), 0
    with undone_on_failure(lambda: aside.unlink(missing_ok=True)):
        with aside.open("wb") as file:
            for block in blocks:
                check_cancelled()
                digest.update(block)
                num_bytes += file.write(block)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    return FileRecord(num_bytes, digest.hexdigest())


def write_tensors(
    path: Path, tensors: Mapping[str, Storable], metadata: Mapping[str, str] | None = None
) -> FileRecord:
    """Writes a safetensors file; the same tensors give the same bytes, whatever their order."""
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    arrays = {name: tensors[name] for name in names}
    return write_blocks(path, _iter_file(arrays, metadata))


def _iter_file(arrays: Mapping[str, Storable], metadata: Mapping[str, str] | None) -> Iterator[Any]:
    yield _encode_header(arrays, metadata)
    for name, array in arrays.items():
        num_bytes = 0
        for block in _iter_array(array):
            num_bytes += block.nbytes
            yield block
        if num_bytes != array.nbytes:
            raise CheckpointError(
                "{name} has {num_bytes} bytes, its shape needs {expected}.",
                name=name,
                num_bytes=num_bytes,
                expected=array.nbytes,
            )


def _iter_array(array: Storable) -> Iterator[npt.NDArray[np.uint8]]:
    """The bytes in pieces, so that a cancel is heard between them."""
    blocks = array.iter_blocks() if isinstance(array, StreamedArray) else (array,)
    for block in blocks:
        raw = np.ascontiguousarray(block, array.dtype).reshape(-1).view(np.uint8)
        for start in range(0, raw.size, _BLOCK_BYTES):
            yield raw[start : start + _BLOCK_BYTES]


def _encode_header(arrays: Mapping[str, Storable], metadata: Mapping[str, str] | None) -> bytes:
    entries: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        dtype = _DTYPE_NAMES[array.dtype]
        entries[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


class TensorFile:
    """An open safetensors file. Arrays are read-only views: drop them before `close`."""

    def __init__(self, path: Path) -> None:
        """Maps the file, checks its header against its size; CheckpointError names the file."""
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            raise CheckpointError(
                "{name} cannot be opened.", name=path.name, detail=str(error)
            ) from error
        try:
            self.entries = _decode_header(self._map)
        except _UnknownTypeError as error:
            self._map.close()
            raise CheckpointError(
                "{name} holds tensors of the type {dtype}, which is not supported.",
                name=path.name,
                dtype=error,
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._map.close()
            raise CheckpointError(
                "{name} is not a sound safetensors file.", name=path.name, detail=repr(error)
            ) from error

    def array(self, name: str) -> npt.NDArray[Any]:
        """A read-only view of tensor `name`."""
        entry = self.entries[name]
        count = math.prod(entry.shape)
        return np.frombuffer(self._map, entry.dtype, count, entry.offset).reshape(entry.shape)

    def release(self) -> None:
        """Takes the pages that were read out of this process; the next read maps them again."""
        if sys.platform != "win32":  # there the system trims a working set by itself
            self._map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Unmaps the file; where views are still alive, the last one to die unmaps it."""
        with contextlib.suppress(BufferError):
            self._map.close()


def _decode_header(data: mmap.mmap) -> dict[str, TensorEntry]:
    header_bytes = int.from_bytes(data[:8], "little")
    start = 8 + header_bytes
    if header_bytes > _MAX_HEADER_BYTES or start > len(data):
        raise ValueError("the header is longer than the file")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    entries = {name: _decode_entry(fields, start) for name, fields in header.items()}
    _check_tiling(entries, start, len(data))
    return entries


class _UnknownTypeError(Exception):
    """A dtype that the format has and this program does not: float8_e4m3fnuz, four bits."""


def _decode_entry(fields: dict[str, Any], data_start: int) -> TensorEntry:
    shape = tuple(fields["shape"])
    begin, end = fields["data_offsets"]
    dtype = _DTYPES.get(fields["dtype"])
    if dtype is None:
        raise _UnknownTypeError(fields["dtype"])
    if not all(type(n) is int and n >= 0 for n in (*shape, begin, end)):
        raise ValueError("sizes must be whole numbers")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError("a tensor's bytes do not match its shape")
    return TensorEntry(dtype, shape, data_start + begin)


def _check_tiling(entries: dict[str, TensorEntry], start: int, file_bytes: int) -> None:
    """Tensors must follow each other without hole or overlap up to the end of the file."""
    position = start
    for entry in sorted(entries.values(), key=lambda e: (e.offset, math.prod(e.shape))):
        if entry.offset != position:
            raise ValueError("tensors overlap or leave a hole")
        position += math.prod(entry.shape) * entry.dtype.itemsize
    if position != file_bytes:
        raise ValueError("the tensors do not end where the file ends")
