"""PyTorch's .bin: a zip file with a pickle and the bytes of each storage.

pytorch:torch/serialization.py (`<name>/data.pkl`, `<name>/data/<key>`, `<name>/byteorder`). No data
is read and nothing executed: a tensor is a place in the file.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.pickle_machine import Interpreter, PickleError, TensorView
from app.core.errors import InvalidSourceError, UnsupportedError
from app.core.sentence import Sentence

_LOCAL_HEADER_BYTES = 30  # then the name and the extra field, whose lengths stand at 26 and 28
_MAX_PICKLE_BYTES = 1 << 26


def read_pickle_file(path: Path) -> dict[str, StoredArray]:
    """The tensors of a .bin by name, as places in the file.

    Raises UnsupportedError for an old (not zip) file, or a pickle that holds anything but tensors;
    InvalidSourceError for a damaged one.
    """
    if not zipfile.is_zipfile(path):
        raise _not_a_zip(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_archive(path, archive)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
        raise InvalidSourceError(
            "{name} is damaged.", name=path.name, detail=repr(error)
        ) from error


def _not_a_zip(path: Path) -> UnsupportedError | InvalidSourceError:
    with path.open("rb") as file:
        head = file.read(4)
    if head.startswith(b"\x80\x02"):
        return UnsupportedError(
            "{name}: PyTorch files from before version 1.6 are refused.", name=path.name
        )
    return InvalidSourceError(
        "{name} is damaged: it is no PyTorch file, or cut off.", name=path.name
    )


def _read_archive(path: Path, archive: zipfile.ZipFile) -> dict[str, StoredArray]:
    members = {info.filename.partition("/")[2]: info for info in archive.infolist()}
    order = members.get("byteorder")
    if order is not None and archive.read(order) != b"little":
        raise UnsupportedError(
            "{name}: big-endian PyTorch files are not supported.", name=path.name
        )
    pickled = members.get("data.pkl")
    if pickled is None or pickled.file_size > _MAX_PICKLE_BYTES:
        raise InvalidSourceError("{name} is damaged: it has no usable data.pkl.", name=path.name)
    try:
        tensors = _named_tensors(Interpreter().run(archive.read(pickled)))
    except PickleError as error:
        raise UnsupportedError("{name}: {error}.", name=path.name, error=error) from error
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise InvalidSourceError(
            "{name} is damaged.", name=path.name, detail=repr(error)
        ) from error
    places = _Places(path, members)
    return {name: places.locate(name, tensor) for name, tensor in tensors.items()}


def _named_tensors(value: Any) -> dict[str, TensorView]:
    if not isinstance(value, dict):
        raise PickleError(Sentence("its pickle is no dictionary of tensors"))
    for name, tensor in value.items():
        if not isinstance(name, str) or not isinstance(tensor, TensorView):
            raise PickleError(
                Sentence("its pickle holds {tensor!r}, which is no tensor", tensor=name)
            )
    return value


class _Places:
    """Turns tensors of a pickle into checked places of the file."""

    def __init__(self, path: Path, members: Mapping[str, zipfile.ZipInfo]) -> None:
        self._path, self._members = path, members
        self._starts: dict[str, int] = {}

    def locate(self, name: str, tensor: TensorView) -> StoredArray:
        """InvalidSourceError when the tensor reaches beyond its storage."""
        storage, itemsize = tensor.storage, tensor.storage.dtype.itemsize
        info = self._members.get(f"data/{storage.key}")
        span = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.strides, strict=True))
        last = tensor.offset + span if prod(tensor.shape) else tensor.offset - 1
        numbers = (tensor.offset, *tensor.shape, *tensor.strides)
        is_inside = info is not None and (last + 1) * itemsize <= info.file_size
        if info is None or not is_inside or min(numbers) < 0:
            raise InvalidSourceError(
                "{name}: {tensor} lies beyond its storage.", name=self._path.name, tensor=name
            )
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise UnsupportedError(
                "{name}: compressed tensors are not supported.", name=self._path.name
            )
        if len(tensor.shape) > 2 and not _is_contiguous(tensor):
            raise UnsupportedError(
                "{name}: {tensor} is a view of more than a matrix.",
                name=self._path.name,
                tensor=name,
            )
        offset = self._start(info) + tensor.offset * itemsize
        strides = None if _is_contiguous(tensor) else tensor.strides
        return StoredArray(name, self._path, storage.dtype, tensor.shape, offset, strides)

    def _start(self, info: zipfile.ZipInfo) -> int:
        """Where a member's data begins: its local header tells, the directory does not."""
        if info.filename not in self._starts:
            with self._path.open("rb") as file:
                file.seek(info.header_offset)
                header = file.read(_LOCAL_HEADER_BYTES)
            lengths = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
            self._starts[info.filename] = info.header_offset + _LOCAL_HEADER_BYTES + sum(lengths)
        return self._starts[info.filename]


def _is_contiguous(tensor: TensorView) -> bool:
    expected = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True
