"""All files of one GGUF model: a single file, or shards found from any one of them.

Naming and `split.*` keys: ggml-org/llama.cpp:tools/gguf-split, llama_split_path in src/llama.cpp.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.converter.sources.base import as_text
from app.core.errors import InvalidSourceError, UnsupportedError
from app.spec.gguf_header import GgufHeader, GgufTensor, read_gguf_header_of

_SHARD_NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor and the file it stands in."""

    path: Path
    info: GgufTensor

    @property
    def shape(self) -> tuple[int, ...]:
        """In NumPy's order."""
        return self.info.shape


@dataclass(frozen=True, slots=True)
class GgufModel:
    """The checked headers of all shards; metadata comes from the first."""

    name: str
    file: str
    paths: tuple[Path, ...]
    metadata: dict[str, Any]
    tensors: dict[str, StoredTensor]


def open_gguf_model(path: Path) -> GgufModel:
    """Reads the headers of every shard of the model that `path` belongs to.

    Raises InvalidSourceError naming a shard that is missing or does not belong, and what the
    header parser raises.
    """
    header = read_gguf_header_of(path)
    paths = _shard_paths(path, header)
    headers = [header if shard == path else read_gguf_header_of(shard) for shard in paths]
    if len(paths) > 1:
        _check_shards(paths, headers)
    return GgufModel(
        name=model_name(path),
        file=paths[0].name,
        paths=paths,
        metadata=headers[0].metadata,
        tensors=_merge_tensors(paths, headers),
    )


def model_name(path: Path) -> str:
    """The file name without `.gguf` and shard number: equal for all shards of a model."""
    match = _SHARD_NAME.fullmatch(path.name)
    return as_text(match["stem"] if match else path.stem)


def _shard_paths(path: Path, header: GgufHeader) -> tuple[Path, ...]:
    match = _SHARD_NAME.fullmatch(path.name)
    declared = header.metadata.get("split.count", 0)
    if match is None or int(match["count"]) <= 1:
        if isinstance(declared, int) and declared > 1:
            raise InvalidSourceError(
                "{name}: this is one of {declared} shards, but its name does not end in "
                "-00001-of-{declared:05d}.gguf, so the others cannot be found.",
                name=path.name,
                declared=declared,
            )
        return (path,)
    count = int(match["count"])
    names = [f"{match['stem']}-{number:05d}-of-{count:05d}.gguf" for number in range(1, count + 1)]
    for name in names:
        if name != path.name and not path.with_name(name).is_file():
            raise InvalidSourceError(
                "{name}: the shard {shard} is missing.", name=path.name, shard=name
            )
    return tuple(path if name == path.name else path.with_name(name) for name in names)


def _check_shards(paths: tuple[Path, ...], headers: list[GgufHeader]) -> None:
    total = sum(len(header.tensors) for header in headers)
    for number, (path, header) in enumerate(zip(paths, headers, strict=True)):
        found = {
            key: header.metadata.get(f"split.{key}") for key in ("no", "count", "tensors.count")
        }
        wanted = {"no": number, "count": len(paths), "tensors.count": total}
        for key, value in wanted.items():
            if type(found[key]) is not int or found[key] != value:
                raise InvalidSourceError(
                    "{name}: split.{key} is {found}, the {num_shards} shards here make it {value}.",
                    name=path.name,
                    key=key,
                    found=found[key],
                    num_shards=len(paths),
                    value=value,
                )


def _merge_tensors(paths: tuple[Path, ...], headers: list[GgufHeader]) -> dict[str, StoredTensor]:
    tensors: dict[str, StoredTensor] = {}
    for path, header in zip(paths, headers, strict=True):
        for info in header.tensors:
            if info.name in tensors:
                raise InvalidSourceError(
                    "{name}: the tensor {tensor!r} also stands in {other}.",
                    name=path.name,
                    tensor=info.name,
                    other=tensors[info.name].path.name,
                )
            tensors[info.name] = StoredTensor(path, info)
    return tensors


def refuse_byte_splits(path: Path) -> None:
    """Pieces of a file that was cut by bytes are no shards; UnsupportedError says to join them."""
    if re.search(r"\.gguf[.-](part|split)", path.name, re.IGNORECASE):
        raise UnsupportedError(
            "{name}: this is a piece of a cut file; join the pieces first.", name=path.name
        )
