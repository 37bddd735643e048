"""A pickle that is read, never executed: enough of the machine for a dictionary of tensors.

pytorch:torch/_utils.py (_rebuild_tensor_v2: storage, offset, size, stride in elements) and Python's
pickletools (opcodes). Three kinds of globals are known by name, none is imported; any other global
or opcode is refused by name.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from app.core.sentence import Sentence

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
class Storage:
    """`count` items of `dtype` in the zip member `data/<key>`."""

    key: str
    dtype: np.dtype[Any]
    count: int


@dataclass(frozen=True, slots=True)
class TensorView:
    """A view of a storage; offset and strides in items."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Mark:
    """Where a MARK opcode stands on the stack."""


class PickleError(Exception):
    """What the interpreter refuses; the caller names the file."""


class Interpreter:
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
                raise PickleError(
                    Sentence(
                        "its pickle uses the opcode {opcode}, which is refused", opcode=opcode.name
                    )
                )
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
            raise PickleError(
                Sentence(
                    "its pickle asks for {asked}, which is refused", asked=name.replace(" ", ".")
                )
            )
        self.push(_Global(name))

    def push_storage(self) -> None:
        """A persistent id: ("storage", type, key, location, count)."""
        kind, storage, key, _, count = self._stack.pop()
        if kind != "storage":
            raise PickleError(Sentence("its pickle refers to something other than a storage"))
        self.push(Storage(str(key), _STORAGES[storage.name], int(count)))

    def call(self) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        if function == _Global(_ORDERED_DICT) and arguments == ():
            self.push({})
        elif function == _Global(_REBUILD_TENSOR):
            storage, offset, shape, strides = arguments[:4]
            self.push(TensorView(storage, int(offset), _integers(shape), _integers(strides)))
        else:
            raise PickleError(
                Sentence("its pickle calls something other than a tensor's constructor")
            )

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict):
            raise PickleError(Sentence("its pickle changes something other than a dictionary"))
        target.update(zip(items[::2], items[1::2], strict=True))

    def set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self.set_items([key, value])


def _integers(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


_Action = Callable[[Interpreter, Any], Any]
_ACTIONS: dict[str, _Action] = {
    "PROTO": lambda machine, version: None,
    "MARK": lambda machine, _: machine.push(_Mark()),
    "GLOBAL": Interpreter.push_global,
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
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), Interpreter.put),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), Interpreter.get),
    **dict.fromkeys(
        ("BINUNICODE", "SHORT_BINSTRING", "BININT", "BININT1", "BININT2", "LONG1"),
        Interpreter.push,
    ),
}
