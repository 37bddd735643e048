"""Opens a native checkpoint: all is checked first, then tensors are views over mapped files."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.json_fields import JsonFields
from app.checkpoint.layout import FLOATS, canonical_name, check_arrays, check_perm
from app.checkpoint.manifest import MANIFEST_NAME, LinearRecord, Manifest
from app.checkpoint.schemes import Linear
from app.checkpoint.tensor_file import FileRecord, TensorFile
from app.checkpoint.verification import verify_files
from app.core.cleanup import undone_on_failure
from app.core.errors import CheckpointError
from app.core.jobs import check_cancelled

_TENSORS = ".safetensors"


class Checkpoint:
    """An open native checkpoint; a context manager. `open` is the only way in.

    Arrays are read-only views over memory maps. Drop them before `close`: on Windows a folder with
    a mapped file cannot be deleted or renamed.
    """

    def __init__(self, directory: Path, manifest: Manifest, files: dict[str, TensorFile]) -> None:
        self.dir = directory
        self.manifest = manifest
        self._files = files
        self._tensors = _index(files)
        self.config = _read_json(directory, "config.json")
        has_generation = "generation_config.json" in manifest.files
        self.generation_config = (
            _read_json(directory, "generation_config.json") if has_generation else {}
        )

    @classmethod
    def open(cls, path: Path, verify: bool = True) -> Checkpoint:
        """Checks the manifest, every file's size, header and arrays, with `verify` also its hash
        unless it is as it was when it last was right (`app.checkpoint.verification`).

        Raises CheckpointError naming the file and the fault.
        """
        manifest = Manifest.read(path)
        for name, record in sorted(manifest.files.items()):
            _check_size(path / name, record)
        if verify:
            verify_files(path, manifest.files)
        if "config.json" not in manifest.files:
            raise CheckpointError("{manifest} does not list config.json.", manifest=MANIFEST_NAME)
        files: dict[str, TensorFile] = {}
        with undone_on_failure(lambda: _close_all(files)):
            for name in sorted(n for n in manifest.files if n.endswith(_TENSORS)):
                files[name] = TensorFile(path / name)
            checkpoint = cls(path, manifest, files)
            checkpoint._check_tensors()
        return checkpoint

    @staticmethod
    def is_native_dir(path: Path) -> bool:
        """Whether `path` is a folder with a manifest; nothing is read."""
        return (path / MANIFEST_NAME).is_file()

    @property
    def total_bytes(self) -> int:
        """Bytes of all files the manifest lists."""
        return sum(record.num_bytes for record in self.manifest.files.values())

    def has(self, name: str) -> bool:
        """Whether a linear or vector of this canonical name is stored."""
        return name in self._tensors

    def linear(self, name: str) -> Linear:
        """The linear `layers.0.self_attn.q_proj`, `lm_head` ...; CheckpointError when absent."""
        check_cancelled()  # loading a model asks for one after the other
        record = self.manifest.linears.get(name)
        if record is None:
            raise CheckpointError("The checkpoint has no linear {name}.", name=name)
        arrays = {array: file.array(local) for array, (file, local) in self._tensors[name].items()}
        linear = Linear(record.shape, record.quant, **arrays)
        check_perm(name, linear)
        return linear

    def vector(self, name: str) -> npt.NDArray[Any]:
        """The small tensor `layers.0.input_layernorm`, `norm` ...; CheckpointError when absent."""
        if name in self.manifest.linears or name not in self._tensors:
            raise CheckpointError("The checkpoint has no vector {name}.", name=name)
        file, local = self._tensors[name]["weight"]
        return file.array(local)

    def release(self, name: str) -> None:
        """Gives back the memory that reading a linear took; its arrays can still be read."""
        for file in {file for file, _ in self._tensors[name].values()}:
            file.release()

    @property
    def vector_names(self) -> tuple[str, ...]:
        """Canonical names of all vectors that are stored."""
        return tuple(name for name in self._tensors if name not in self.manifest.linears)

    def close(self) -> None:
        """Unmaps all files; the checkpoint is unusable afterwards."""
        _close_all(self._files)
        self._tensors.clear()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check_tensors(self) -> None:
        for name, record in self.manifest.linears.items():
            self._check_linear(name, record)
        for name in self._tensors.keys() - self.manifest.linears.keys():
            self._check_vector(name)

    def _check_linear(self, name: str, record: LinearRecord) -> None:
        tensors = self._tensors.get(name)
        if tensors is None:
            raise CheckpointError(
                "{manifest} records {name}, which no file holds.", manifest=MANIFEST_NAME, name=name
            )
        entries = {array: file.entries[local] for array, (file, local) in tensors.items()}
        check_arrays(
            name, record.quant, record.shape, {a: (e.dtype, e.shape) for a, e in entries.items()}
        )
        if record.quant is None and entries["weight"].dtype != np.dtype(record.dtype):
            raise CheckpointError(
                "{name}.weight is {dtype}, not {wanted}.",
                name=name,
                dtype=entries["weight"].dtype,
                wanted=record.dtype,
            )

    def _check_vector(self, name: str) -> None:
        tensors = self._tensors[name]
        if tensors.keys() != {"weight"}:
            raise CheckpointError(
                "{name} is stored but {manifest} has no record of it.",
                name=name,
                manifest=MANIFEST_NAME,
            )
        file, local = tensors["weight"]
        if file.entries[local].dtype not in FLOATS:
            raise CheckpointError(
                "{name}: {tensor} is not an array of floats.", name=file.path.name, tensor=local
            )


def _index(files: dict[str, TensorFile]) -> dict[str, dict[str, tuple[TensorFile, str]]]:
    """canonical name -> array suffix -> (file, name inside the file); each in one file only."""
    tensors: dict[str, dict[str, tuple[TensorFile, str]]] = {}
    for file_name, file in files.items():
        stem = file_name.removesuffix(_TENSORS)
        for local in file.entries:
            base, _, array = local.rpartition(".")
            arrays = tensors.setdefault(canonical_name(stem, base), {})
            if array in arrays:
                raise CheckpointError(
                    "{file_name}: {tensor} stands in two files.", file_name=file_name, tensor=local
                )
            arrays[array] = (file, local)
    return tensors


def _check_size(path: Path, record: FileRecord) -> None:
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise CheckpointError("{name} is missing.", name=path.name, detail=str(error)) from error
    if size != record.num_bytes:
        raise CheckpointError(
            "{name} has {num_bytes} bytes instead of {expected}.",
            name=path.name,
            num_bytes=size,
            expected=record.num_bytes,
        )


def _read_json(directory: Path, name: str) -> dict[str, Any]:
    try:
        text = (directory / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError("{name} cannot be read.", name=name, detail=str(error)) from error
    return JsonFields.parse(text, name).values


def _close_all(files: dict[str, TensorFile]) -> None:
    for file in files.values():
        file.close()
    files.clear()
