"""Strict parser of a GGUF header (ggml-org/ggml:docs/gguf.md): metadata and tensor infos.

It reads from any seekable binary stream, so that a remote file can be judged through HTTP ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from app.core.errors import InvalidSourceError, UnsupportedError
from app.core.sentence import Sentence
from app.core.system_reason import system_reason
from app.spec.gguf_stream import GgufStream
from app.spec.gguf_types import GgmlType, find_ggml_type

MAX_KEYS = 1 << 16
MAX_TENSORS = 1 << 20
MAX_ARRAY_LENGTH = 1 << 24
MAX_STRING_ARRAY_LENGTH = 1 << 22
MAX_NAME_BYTES = 256
MAX_DIMENSIONS = 4
DEFAULT_ALIGNMENT = 32

_STRING, _ARRAY, _BOOL = 8, 9, 7
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 10: "Q", 11: "q", 12: "d"}
_OLD_MAGICS = {b"lmgg": "GGML", b"fmgg": "GGMF", b"tjgg": "GGJT", b"algg": "GGLA"}
LFS_POINTER_START = b"version https://git-lfs"


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor's place: `shape` in NumPy's order, `offset` from the start of the file."""

    name: str
    shape: tuple[int, ...]
    type: GgmlType
    offset: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class GgufCounts:
    """What the header says first: how much of it follows."""

    version: int
    num_tensors: int
    num_keys: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Everything before the tensor data; arrays of strings are lists, of numbers NumPy arrays."""

    file: str
    version: int
    metadata: dict[str, Any]
    tensors: tuple[GgufTensor, ...]
    file_bytes: int


def read_gguf_header_of(path: Path) -> GgufHeader:
    """The header of a local file; InvalidSourceError or UnsupportedError otherwise."""
    try:
        with path.open("rb") as stream:
            return read_gguf_header(stream, file=path.name, total_bytes=path.stat().st_size)
    except OSError as error:
        raise InvalidSourceError(
            "{name}: cannot be read ({reason}).",
            name=path.name,
            reason=system_reason(error),
            detail=repr(error),
        ) from error


def read_gguf_header(stream: BinaryIO, *, file: str, total_bytes: int) -> GgufHeader:
    """The header of a stream of `total_bytes` bytes; `file` names it in errors.

    Raises InvalidSourceError for damage and UnsupportedError for what is sound but refused. Memory
    stays bounded by the bytes that are really there: every count is checked against them first.
    """
    cursor = GgufStream(stream, file=file, total_bytes=total_bytes)
    counts, metadata = read_counts(cursor), dict[str, Any]()
    tensors = read_after_counts(cursor, counts, metadata)
    return GgufHeader(file, counts.version, metadata, tensors, total_bytes)


def read_counts(cursor: GgufStream) -> GgufCounts:
    """The fixed part at the start; raises as `read_gguf_header`."""
    _check_magic(cursor)
    return GgufCounts(
        _read_version(cursor),
        cursor.read_count(Sentence("the number of tensors"), limit=MAX_TENSORS),
        cursor.read_count(Sentence("the number of metadata keys"), limit=MAX_KEYS),
    )


def read_after_counts(
    cursor: GgufStream, counts: GgufCounts, metadata: dict[str, Any]
) -> tuple[GgufTensor, ...]:
    """Fills `metadata` key by key, then returns the tensors; raises as `read_gguf_header`."""
    _read_metadata(cursor, counts.num_keys, metadata)
    alignment = _alignment(cursor, metadata)
    infos = [_read_tensor_info(cursor) for _ in range(counts.num_tensors)]
    data_start = -(-cursor.offset // alignment) * alignment
    tensors = tuple(_place(cursor, info, data_start, alignment) for info in infos)
    _check_layout(cursor, tensors)
    return tensors


def _check_magic(cursor: GgufStream) -> None:
    if cursor.total_bytes == 0:
        raise cursor.fail(Sentence("the file is empty"))
    head = cursor.read(min(len(LFS_POINTER_START), cursor.total_bytes), Sentence("the magic"))
    if head == LFS_POINTER_START:
        raise cursor.fail(
            Sentence("this is a Git LFS pointer, not the model itself; download the real file")
        )
    if head[:4] in _OLD_MAGICS:
        raise UnsupportedError(
            "{file}: the old {format} format is not supported, only GGUF.",
            file=cursor.file,
            format=_OLD_MAGICS[head[:4]],
        )
    if head[:4] != b"GGUF":
        raise cursor.fail(Sentence("this is not a GGUF file (it does not start with GGUF)"))
    cursor.rewind(4)


def _read_version(cursor: GgufStream) -> int:
    version = int(cursor.read_struct("I", Sentence("the version")))
    if version and not version & 0xFFFF:
        raise UnsupportedError("{file}: big-endian GGUF files are not supported.", file=cursor.file)
    if version not in (2, 3):
        raise UnsupportedError(
            "{file}: GGUF version {version} is not supported, only 2 and 3.",
            file=cursor.file,
            version=version,
        )
    return version


def _read_metadata(cursor: GgufStream, num_keys: int, metadata: dict[str, Any]) -> None:
    for index in range(num_keys):
        key = cursor.read_string(
            Sentence("the name of metadata key {index}", index=index), limit=MAX_NAME_BYTES
        )
        if key in metadata:
            raise cursor.fail(Sentence("the metadata key {key!r} appears twice", key=key))
        value_type = cursor.read_struct("I", Sentence("the type of {key!r}", key=key))
        metadata[key] = _read_value(cursor, value_type, key)


def _read_value(cursor: GgufStream, value_type: int, key: str) -> Any:
    if value_type == _STRING:
        return cursor.read_string(Sentence("the value of {key!r}", key=key))
    if value_type == _ARRAY:
        return _read_array(cursor, key)
    if value_type == _BOOL:
        return _as_bool(cursor, cursor.read_struct("B", key), key)
    if value_type in _NUMBERS:
        return cursor.read_struct(_NUMBERS[value_type], Sentence("the value of {key!r}", key=key))
    raise cursor.fail(
        Sentence(
            "the metadata key {key!r} has the unknown value type {value_type}",
            key=key,
            value_type=value_type,
        )
    )


def _read_array(cursor: GgufStream, key: str) -> Any:
    item_type = cursor.read_struct("I", Sentence("the item type of {key!r}", key=key))
    what = Sentence("the array {key!r}", key=key)
    if item_type == _STRING:
        count = cursor.read_count(
            Sentence("the length of {what}", what=what), limit=MAX_STRING_ARRAY_LENGTH
        )
        return cursor.read_strings(count, what)
    count = cursor.read_count(Sentence("the length of {what}", what=what), limit=MAX_ARRAY_LENGTH)
    if item_type == _BOOL:
        return cursor.read_array(np.dtype("?"), count, what)
    if item_type in _NUMBERS:
        return cursor.read_array(np.dtype("<" + _NUMBERS[item_type]), count, what)
    raise cursor.fail(
        Sentence(
            "{what} has the unknown or nested item type {item_type}", what=what, item_type=item_type
        )
    )


def _as_bool(cursor: GgufStream, value: int, key: str) -> bool:
    if value not in (0, 1):
        raise cursor.fail(
            Sentence("the boolean {key!r} has the value {value}", key=key, value=value)
        )
    return bool(value)


def _alignment(cursor: GgufStream, metadata: dict[str, Any]) -> int:
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise cursor.fail(
            Sentence(
                "general.alignment is {alignment!r}, which is not a power of two",
                alignment=alignment,
            )
        )
    return alignment


def _read_tensor_info(cursor: GgufStream) -> GgufTensor:
    """As stored: `offset` still counts from the start of the data."""
    name = cursor.read_string(Sentence("a tensor name"), limit=MAX_NAME_BYTES)
    num_dimensions = cursor.read_struct("I", Sentence("the shape of tensor {name!r}", name=name))
    if not 1 <= num_dimensions <= MAX_DIMENSIONS:
        raise cursor.fail(
            Sentence(
                "tensor {name!r} has {num_dimensions} dimensions",
                name=name,
                num_dimensions=num_dimensions,
            )
        )
    shape = tuple(
        reversed(
            [
                int(cursor.read_struct("Q", Sentence("the shape of {name!r}", name=name)))
                for _ in range(num_dimensions)
            ]
        )
    )
    ggml_type = find_ggml_type(
        cursor.read_struct("I", Sentence("the type of {name!r}", name=name)),
        file=cursor.file,
        tensor=name,
    )
    offset = int(cursor.read_struct("Q", Sentence("the offset of {name!r}", name=name)))
    if not all(shape) or shape[-1] % ggml_type.block_size:
        raise cursor.fail(
            Sentence(
                "tensor {name!r} of shape {shape} cannot be {ggml_type}",
                name=name,
                shape=list(shape),
                ggml_type=ggml_type.name,
            )
        )
    return GgufTensor(name, shape, ggml_type, offset, ggml_type.num_bytes(prod(shape)))


def _place(cursor: GgufStream, info: GgufTensor, data_start: int, alignment: int) -> GgufTensor:
    if info.offset % alignment:
        raise cursor.fail(
            Sentence(
                "tensor {tensor!r} is not aligned to {alignment} bytes",
                tensor=info.name,
                alignment=alignment,
            )
        )
    offset = data_start + info.offset
    if offset + info.num_bytes > cursor.total_bytes:
        raise cursor.fail(
            Sentence(
                "the file is truncated or damaged: tensor {tensor!r} ends at byte {end:,}, "
                "the file has {total_bytes:,}",
                tensor=info.name,
                end=offset + info.num_bytes,
                total_bytes=cursor.total_bytes,
            )
        )
    return GgufTensor(info.name, info.shape, info.type, offset, info.num_bytes)


def _check_layout(cursor: GgufStream, tensors: tuple[GgufTensor, ...]) -> None:
    names: set[str] = set()
    for tensor in tensors:
        if tensor.name in names:
            raise cursor.fail(Sentence("the tensor {tensor!r} appears twice", tensor=tensor.name))
        names.add(tensor.name)
    for first, second in pairwise(sorted(tensors, key=lambda tensor: tensor.offset)):
        if first.offset + first.num_bytes > second.offset:
            raise cursor.fail(
                Sentence(
                    "the tensors {first!r} and {second!r} overlap",
                    first=first.name,
                    second=second.name,
                )
            )
