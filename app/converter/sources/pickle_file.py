"""PyTorch's .bin: tensors of a zip file, found by a pickle that is read, never executed.

pytorch:torch/serialization.py (zip with `<name>/data.pkl`, `<name>/data/<key>`, `byteorder`) and
torch/_utils.py (_rebuild_tensor_v2: storage, offset, size, stride in elements). The interpreter
below knows the opcodes that a dictionary of tensors needs and three kinds of globals; anything
else, of either, is refused by name. No data is read: a tensor is a place in the file.
"""

from __future__ import annotations

import pickletools
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from app.converter.sources.hf_folder import StoredArray
from app.core.errors import InvalidSourceError, UnsupportedError

_LOCAL_HEADER_BYTES = 30  # then the name and the extra field, whose lengths stand at 26 and 28
_MAX_PICKLE_BYTES = 1 << 26
_STORAGES: dict[str, np.dtype[Any]] = {
    "torch DoubleStorage": np.dtype(np.float64),
    "torch FloatStorage": np.dtype(np.float32),
    "torch HalfStorage": np.dtype(np.float16),
    "torch BFloat16Storage": np.dtype(ml_dtypes.bfloat16),
    "torch LongStorage": np.dtype(np.int64),
    "torch IntStorage": np.dtype(np.int32),
    "torch ShortStorage": np.dtype(np.int16),
    "torch CharStorage": np.dtype(np.int8),
    "torch ByteStorage": np.dtype(np.uint8),
    "torch BoolStorage": np.dtype(np.bool_),
}
_ORDERED_DICT = "collections OrderedDict"
_REBUILD_TENSOR = "torch._utils _rebuild_tensor_v2"


@dataclass(frozen=True, slots=True)
class _Global:
    """A name that the pickle mentions: never imported."""

    name: str


@dataclass(frozen=True, slots=True)
class _Storage:
    """`count` items of `dtype` in the zip member `data/<key>`."""

    key: str
    dtype: np.dtype[Any]
    count: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A view of a storage; offset and strides in items."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Mark:
    """Where a MARK opcode stands on the stack."""


class PickleError(Exception):
    """What the interpreter refuses; the caller names the file."""


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
        raise InvalidSourceError(f"{path.name} is damaged.", detail=repr(error)) from error


def _not_a_zip(path: Path) -> UnsupportedError | InvalidSourceError:
    with path.open("rb") as file:
        head = file.read(4)
    if head.startswith(b"\x80\x02"):
        return UnsupportedError(f"{path.name}: PyTorch files from before version 1.6 are refused.")
    return InvalidSourceError(f"{path.name} is damaged: it is no PyTorch file, or cut off.")


def _read_archive(path: Path, archive: zipfile.ZipFile) -> dict[str, StoredArray]:
    members = {info.filename.partition("/")[2]: info for info in archive.infolist()}
    order = members.get("byteorder")
    if order is not None and archive.read(order) != b"little":
        raise UnsupportedError(f"{path.name}: big-endian PyTorch files are not supported.")
    pickled = members.get("data.pkl")
    if pickled is None or pickled.file_size > _MAX_PICKLE_BYTES:
        raise InvalidSourceError(f"{path.name} is damaged: it has no usable data.pkl.")
    try:
        tensors = _named_tensors(_Interpreter().run(archive.read(pickled)))
    except PickleError as error:
        raise UnsupportedError(f"{path.name}: {error}.") from error
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise InvalidSourceError(f"{path.name} is damaged.", detail=repr(error)) from error
    places = _Places(path, members)
    return {name: places.locate(name, tensor) for name, tensor in tensors.items()}


def _named_tensors(value: Any) -> dict[str, _Tensor]:
    if not isinstance(value, dict):
        raise PickleError("its pickle is no dictionary of tensors")
    for name, tensor in value.items():
        if not isinstance(name, str) or not isinstance(tensor, _Tensor):
            raise PickleError(f"its pickle holds {name!r}, which is no tensor")
    return value


class _Places:
    """Turns tensors of a pickle into checked places of the file."""

    def __init__(self, path: Path, members: Mapping[str, zipfile.ZipInfo]) -> None:
        self._path, self._members = path, members
        self._starts: dict[str, int] = {}

    def locate(self, name: str, tensor: _Tensor) -> StoredArray:
        """InvalidSourceError when the tensor reaches beyond its storage."""
        storage, itemsize = tensor.storage, tensor.storage.dtype.itemsize
        info = self._members.get(f"data/{storage.key}")
        span = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.strides, strict=True))
        last = tensor.offset + span if prod(tensor.shape) else tensor.offset - 1
        numbers = (tensor.offset, *tensor.shape, *tensor.strides)
        is_inside = info is not None and (last + 1) * itemsize <= info.file_size
        if info is None or not is_inside or min(numbers) < 0:
            raise InvalidSourceError(f"{self._path.name}: {name} lies beyond its storage.")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise UnsupportedError(f"{self._path.name}: compressed tensors are not supported.")
        if len(tensor.shape) > 2 and not _is_contiguous(tensor):
            raise UnsupportedError(f"{self._path.name}: {name} is a view of more than a matrix.")
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


def _is_contiguous(tensor: _Tensor) -> bool:
    expected = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


class _Interpreter:
    """A pickle machine with a stack and a memo, but without imports, calls or object state."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self, pickled: bytes) -> Any:
        """The value that the pickle builds; PickleError for an opcode or a global not known."""
        for opcode, argument, _ in pickletools.genops(pickled):
            if opcode.name == "STOP":
                return self._stack.pop()
            action = _ACTIONS.get(opcode.name)
            if action is None:
                raise PickleError(f"its pickle uses the opcode {opcode.name}, which is refused")
            action(self, argument)
        raise ValueError("no STOP opcode")

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def pop_to_mark(self) -> list[Any]:
        start = len(self._stack) - 1
        while not isinstance(self._stack[start], _Mark):
            start -= 1
            if start < 0:
                raise ValueError("no MARK on the stack")
        items = self._stack[start + 1 :]
        del self._stack[start:]
        return items

    def pop_tuple(self, count: int) -> None:
        items = tuple(self._stack[-count:])
        del self._stack[-count:]
        self.push(items)

    def put(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def get(self, index: int) -> None:
        self.push(self._memo[index])

    def push_global(self, name: str) -> None:
        if name not in _STORAGES and name not in (_ORDERED_DICT, _REBUILD_TENSOR):
            raise PickleError(f"its pickle asks for {name.replace(' ', '.')}, which is refused")
        self.push(_Global(name))

    def push_storage(self) -> None:
        """A persistent id: ("storage", type, key, location, count)."""
        kind, storage, key, _, count = self._stack.pop()
        if kind != "storage":
            raise PickleError("its pickle refers to something other than a storage")
        self.push(_Storage(str(key), _STORAGES[storage.name], int(count)))

    def call(self) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        if function == _Global(_ORDERED_DICT) and arguments == ():
            self.push({})
        elif function == _Global(_REBUILD_TENSOR):
            storage, offset, shape, strides = arguments[:4]
            self.push(_Tensor(storage, int(offset), _integers(shape), _integers(strides)))
        else:
            raise PickleError("its pickle calls something other than a tensor's constructor")

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict):
            raise PickleError("its pickle changes something other than a dictionary")
        target.update(zip(items[::2], items[1::2], strict=True))

    def set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self.set_items([key, value])


def _integers(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


_Action = Callable[[_Interpreter, Any], Any]
_ACTIONS: dict[str, _Action] = {
    "PROTO": lambda machine, version: None,
    "MARK": lambda machine, _: machine.push(_Mark()),
    "GLOBAL": _Interpreter.push_global,
    "BINPERSID": lambda machine, _: machine.push_storage(),
    "REDUCE": lambda machine, _: machine.call(),
    # A state dictionary's `_metadata` (versions of modules): the attributes are dropped.
    "BUILD": lambda machine, _: machine._stack.pop(),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "SETITEM": lambda machine, _: machine.set_item(),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_to_mark()),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.pop_to_mark())),
    "TUPLE1": lambda machine, _: machine.pop_tuple(1),
    "TUPLE2": lambda machine, _: machine.pop_tuple(2),
    "TUPLE3": lambda machine, _: machine.pop_tuple(3),
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), _Interpreter.put),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _Interpreter.get),
    **dict.fromkeys(
        ("BINUNICODE", "SHORT_BINSTRING", "BININT", "BININT1", "BININT2", "LONG1"),
        _Interpreter.push,
    ),
}
