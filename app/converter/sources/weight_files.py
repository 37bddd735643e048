"""Which files of a Hugging Face folder hold its weights, and the headers of their tensors.

An index decides alone. Without one, all safetensors files count together, then PyTorch's .bin
files. Never read: copies in another layout (`consolidated*`) or precision (`*.fp16.*`), adapters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from app.checkpoint.tensor_file import TensorFile
from app.converter.sources.hf_folder import StoredArray, lfs_pointer_error, read_json
from app.converter.sources.pickle_file import read_pickle_file
from app.core.errors import CheckpointError, InvalidSourceError
from app.spec.gguf_header import LFS_POINTER_START

# (index, files without an index), in the order of preference.
_KINDS = (
    ("model.safetensors.index.json", "*.safetensors"),
    ("pytorch_model.bin.index.json", "pytorch_model*.bin"),
)
_STRAY = ("consolidated*", "*.fp16.*", "*.fp16-*", "adapter_model*")


@dataclass(frozen=True, slots=True)
class Weights:
    """A folder's weight files and all their tensors by name."""

    files: tuple[Path, ...]
    tensors: dict[str, StoredArray]


def has_weight_files(path: Path) -> bool:
    """Whether any file of the folder would be read for weights."""
    return any(_is_kind(path, *kind) for kind in _KINDS)


def open_weights(path: Path) -> Weights:
    """Reads all headers.

    Raises InvalidSourceError for a file or an indexed tensor that is missing, a damaged file, or a
    tensor in two files; UnsupportedError for a pickle that holds more than tensors.
    """
    index, pattern = next((kind for kind in _KINDS if _is_kind(path, *kind)), _KINDS[0])
    has_index = (path / index).is_file()
    weight_map = _read_weight_map(path / index) if has_index else {}
    names = sorted(set(weight_map.values())) if has_index else _matching(path, pattern)
    for name in names or ["model.safetensors"]:
        if Path(name).name != name or not (path / name).is_file():
            raise InvalidSourceError(
                "{name}: the file {tensor} is missing.", name=path.name, tensor=name
            )
    files = tuple(path / name for name in names)
    tensors = _read_headers(files)
    _check_complete(weight_map, tensors, index)
    return Weights(files, tensors)


def _is_kind(path: Path, index: str, pattern: str) -> bool:
    return (path / index).is_file() or bool(_matching(path, pattern))


def _matching(path: Path, pattern: str) -> list[str]:
    names = sorted(file.name for file in path.glob(pattern))
    return [name for name in names if not any(fnmatch(name, stray) for stray in _STRAY)]


def _read_weight_map(path: Path) -> dict[str, str]:
    weight_map = read_json(path).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise InvalidSourceError("{name} has no weight_map.", name=path.name)
    return {name: str(file) for name, file in weight_map.items()}


def _check_complete(
    weight_map: Mapping[str, str], tensors: Mapping[str, StoredArray], index: str
) -> None:
    lost = [name for name in weight_map if name not in tensors]
    if lost:
        raise InvalidSourceError(
            "{index} names {tensor} in {file}, which does not hold it ({num_lost} such).",
            index=index,
            tensor=lost[0],
            file=weight_map[lost[0]],
            num_lost=len(lost),
            detail="\n".join(lost),
        )


def _read_headers(files: tuple[Path, ...]) -> dict[str, StoredArray]:
    tensors: dict[str, StoredArray] = {}
    for path in files:
        for name, array in _read_header(path).items():
            if name in tensors:
                raise InvalidSourceError(
                    "{name}: {tensor} also stands in {other}.",
                    name=path.name,
                    tensor=name,
                    other=tensors[name].path.name,
                )
            tensors[name] = array
    return tensors


def _read_header(path: Path) -> dict[str, StoredArray]:
    with path.open("rb") as stream:
        if stream.read(len(LFS_POINTER_START)) == LFS_POINTER_START:
            raise lfs_pointer_error(path)
    if path.suffix == ".bin":
        return read_pickle_file(path)
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
