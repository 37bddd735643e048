"""Writes a native checkpoint into a working folder, part by part; refuses calls out of order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.json_fields import JsonFields
from app.checkpoint.layout import FLOATS, check_arrays, check_linear, is_place_of, local_name
from app.checkpoint.manifest import (
    MANIFEST_NAME,
    LinearRecord,
    Manifest,
    Provenance,
    SourceInfo,
    is_plain_name,
)
from app.checkpoint.schemes import Linear, TensorPath
from app.checkpoint.tensor_file import (
    FileRecord,
    Storable,
    StreamedArray,
    hash_file,
    write_blocks,
    write_tensors,
)
from app.core.errors import CheckpointError
from app.core.sentence import Sentence


class WriterState(Enum):
    """Where a writer stands."""

    NEW = "new"
    OPEN = "open"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class StreamedLinear:
    """A dense linear that is never held whole: `iter_weight` gives blocks of rows in `dtype`."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    iter_weight: Callable[[], Iterator[npt.NDArray[Any]]]
    bias: npt.NDArray[Any] | None = None

    def arrays(self) -> dict[str, Storable]:
        """As `Linear.arrays`."""
        bias = {} if self.bias is None else {"bias": self.bias}
        return {"weight": StreamedArray(self.dtype, self.shape, self.iter_weight), **bias}


@dataclass(frozen=True, slots=True)
class PartLinear:
    """A linear to write, with where it came from."""

    linear: Linear | StreamedLinear
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class PartRecord:
    """A part that is on disk: what a resumed conversion must know to adopt it."""

    file: FileRecord
    linears: Mapping[str, LinearRecord]

    def to_json(self) -> dict[str, Any]:
        """For the working folder's own log."""
        linears = {name: record.to_json() for name, record in self.linears.items()}
        return {"bytes": self.file.num_bytes, "sha256": self.file.sha256, "linears": linears}

    @classmethod
    def from_json(cls, values: dict[str, Any], where: str) -> PartRecord:
        """The inverse of `to_json`; raises CheckpointError naming the field."""
        fields = JsonFields(values, where)
        linears = {name: LinearRecord.from_json(f) for name, f in fields.table("linears").tables()}
        return cls(FileRecord(fields.integer("bytes"), fields.text("sha256")), linears)


class CheckpointWriter:
    """begin -> write_part | adopt_part | write_text (from any thread, any order) -> finish.

    The folder is a working folder: it is a checkpoint only once `finish` has written the manifest,
    and the caller renames it into place.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = WriterState.NEW
        self._writes_in_flight = 0
        self._directory = Path()
        self._files: dict[str, FileRecord | None] = {}  # None: claimed, being written
        self._linears: dict[str, LinearRecord] = {}

    @property
    def state(self) -> WriterState:
        """The current state."""
        return self._state

    def begin(self, directory: Path) -> None:
        """Opens the working folder, made when absent; files in it count only once adopted."""
        with self._lock:
            self._expect(WriterState.NEW, "begin")
            directory.mkdir(parents=True, exist_ok=True)
            self._directory, self._state = directory, WriterState.OPEN

    def write_part(
        self, stem: str, linears: Mapping[str, PartLinear], vectors: Mapping[str, npt.NDArray[Any]]
    ) -> PartRecord:
        """Writes `<stem>.safetensors` (embed, layer_00, layer_00_experts_00, norm, lm_head).

        Returns what `adopt_part` needs. Raises CheckpointError for arrays that do not fit their
        scheme, a name that belongs to another file, a part written twice, or a call out of order.
        """
        records = {name: _linear_record(name, part) for name, part in linears.items()}
        tensors = _named_tensors(stem, linears, vectors)
        with self._writing(f"{stem}.safetensors") as path:
            part = PartRecord(write_tensors(path, tensors), records)
            self._record(path.name, part.file, records)
        return part

    def adopt_part(self, stem: str, part: PartRecord) -> bool:
        """Takes over an earlier run's part; False (nothing taken) unless it is whole on disk."""
        path = self._directory / f"{stem}.safetensors"
        if not path.is_file() or path.stat().st_size != part.file.num_bytes:
            return False
        if hash_file(path) != part.file:
            return False
        with self._writing(path.name):
            self._record(path.name, part.file, part.linears)
        return True

    def write_text(self, name: str, content: str) -> None:
        """Writes a text file (config, tokenizer, template) as UTF-8, line ends untouched."""
        if not is_plain_name(name) or name == MANIFEST_NAME:
            raise CheckpointError("{name!r} cannot be a file of a checkpoint.", name=name)
        with self._writing(name) as path:
            self._record(name, write_blocks(path, [content.encode()]), {})

    def finish(self, architecture: str, source: SourceInfo, tool: str) -> Manifest:
        """Writes the manifest, the last file; refused while writes run or without config.json."""
        with self._lock:
            self._expect(WriterState.OPEN, "finish")
            if self._writes_in_flight:
                raise CheckpointError(
                    "The checkpoint cannot be finished while a part is being written."
                )
            if "config.json" not in self._files:
                raise CheckpointError("The checkpoint cannot be finished without config.json.")
            self._state = WriterState.FINISHED
        files = {name: record for name, record in self._files.items() if record is not None}
        manifest = Manifest(architecture, tool, source, self._linears, files)
        write_blocks(self._directory / MANIFEST_NAME, [manifest.to_text().encode()])
        return manifest

    def _expect(self, state: WriterState, call: str) -> None:
        if self._state is not state:
            raise CheckpointError(
                "{call} was called while the checkpoint writer was {state}.",
                call=call,
                state=self._state.value,
            )

    @contextmanager
    def _writing(self, name: str) -> Iterator[Path]:
        """Claims file `name`; a write that fails gives the claim back and can be tried again."""
        with self._lock:
            self._expect(WriterState.OPEN, Sentence("Writing {name}", name=name))
            if name in self._files:
                raise CheckpointError("{name} was written twice.", name=name)
            self._files[name] = None
            self._writes_in_flight += 1
        try:
            yield self._directory / name
        finally:
            with self._lock:
                self._writes_in_flight -= 1
                if self._files[name] is None:
                    del self._files[name]

    def _record(self, name: str, file: FileRecord, linears: Mapping[str, LinearRecord]) -> None:
        with self._lock:
            self._files[name] = file
            self._linears.update(linears)


def _linear_record(name: str, part: PartLinear) -> LinearRecord:
    linear, origin = part.linear, part.provenance
    if isinstance(linear, StreamedLinear):
        found = {array: (v.dtype, v.shape) for array, v in linear.arrays().items()}
        check_arrays(name, None, linear.shape, found)
    else:
        check_linear(name, linear)
    quant = None if isinstance(linear, StreamedLinear) else linear.quant
    if (quant is None) != (origin.path is TensorPath.DENSE):
        raise CheckpointError(
            "{name} is stored as {origin}, which its arrays are not.", name=name, origin=origin.path
        )
    dtype = str(linear.arrays()["weight"].dtype) if quant is None else None
    return LinearRecord(linear.shape, quant, dtype, origin)


def _named_tensors(
    stem: str, linears: Mapping[str, PartLinear], vectors: Mapping[str, npt.NDArray[Any]]
) -> dict[str, Storable]:
    for name in (*linears, *vectors):
        if not is_place_of(stem, name):
            raise CheckpointError(
                "{name} does not belong in {stem}.safetensors.", name=name, stem=stem
            )
    tensors: dict[str, Storable] = {
        f"{local_name(name)}.{suffix}": array
        for name, part in linears.items()
        for suffix, array in part.linear.arrays().items()
    }
    for name, vector in vectors.items():
        _check_vector(name, vector)
        tensors[f"{local_name(name)}.weight"] = vector
    return tensors


def _check_vector(name: str, vector: npt.NDArray[Any]) -> None:
    if vector.dtype not in FLOATS or not np.isfinite(vector).all():
        raise CheckpointError(
            "{name} is not an array of finite float32, float16 or bfloat16 numbers.", name=name
        )
