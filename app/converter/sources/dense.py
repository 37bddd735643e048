"""A plain Hugging Face folder as a source: config.json and unquantized safetensors."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import FLOATS
from app.checkpoint.tensor_file import TensorFile
from app.converter.sources.base import Source, SourceLinear, SourcePart, SourceVector
from app.converter.sources.claims import TensorClaims
from app.converter.sources.file_rows import FileRows, rows_per_block
from app.converter.sources.parts import group_parts
from app.converter.sources.tokenizer_files import check_tokenizer_dir, iter_tokenizer_files
from app.core.errors import CheckpointError, InvalidSourceError, UnsupportedError
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from app.spec.weights import has_bias, iter_linears, iter_vectors

_INDEX, _SINGLE = "model.safetensors.index.json", "model.safetensors"
_QUANTIZATION_KEYS = ("quantization_config", "compression_config", "quantization")
_QUANTIZATION_FILES = ("quantize_config.json", "quant_config.json", "hf_quant_config.json")
_TYPE_NAMES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


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
        num_rows = self.shape[0] if len(self.shape) == 2 else 1
        return FileRows(self.path, self.offset, num_rows, self.num_bytes // num_rows)


class DenseSource(Source):
    """A folder of float32, float16 or bfloat16 weights, checked whole: names, shapes, dtypes."""

    format = "dense"

    def __init__(self, path: Path, tokenizer_dir: Path | None = None) -> None:
        """Raises InvalidSourceError or UnsupportedError; reads no weight."""
        self.path, self.name = path, path.resolve().name
        self._tokenizer_dir = tokenizer_dir or path
        check_tokenizer_dir(self._tokenizer_dir)
        self.config = read_json(path / "config.json")
        _refuse_quantized(self.config, path)
        files = _weight_files(path)
        tensors = _read_headers(files)
        _check_layer_count(self.config, tensors)
        self.notes = _settle_ties(self.config, tensors)
        spec = create_spec(self.config)
        self.files = (path / "config.json", *files)
        self._parts = _create_parts(spec, tensors, path.name)
        self.is_quantized = False
        self.source_bytes = sum(file.stat().st_size for file in files)

    def parts(self) -> tuple[SourcePart, ...]:
        return self._parts

    def iter_text_files(self) -> Iterator[tuple[str, str]]:
        yield from iter_tokenizer_files(self._tokenizer_dir, self.config)

    def close(self) -> None:
        """Nothing stays open between reads."""


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; InvalidSourceError naming the file otherwise."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSourceError(f"{path.name} cannot be read.", detail=repr(error)) from error
    if not isinstance(values, dict):
        raise InvalidSourceError(f"{path.name} does not hold a JSON object.")
    return values


def _refuse_quantized(config: dict[str, Any], path: Path) -> None:
    nested = config.get("text_config")
    tables = [config, nested] if isinstance(nested, dict) else [config]
    for key in _QUANTIZATION_KEYS:
        found = next((table[key] for table in tables if table.get(key)), None)
        if found is not None:
            method = found.get("quant_method", "unknown") if isinstance(found, dict) else "unknown"
            raise _quantized_error(path, f"{key}, method {method}")
    for name in _QUANTIZATION_FILES:
        if (path / name).is_file():
            raise _quantized_error(path, name)


def _quantized_error(path: Path, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"{path.name}: quantized Hugging Face checkpoints ({why}) are not supported yet."
    )


def _weight_files(path: Path) -> tuple[Path, ...]:
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


def _read_headers(files: tuple[Path, ...]) -> dict[str, StoredArray]:
    tensors: dict[str, StoredArray] = {}
    for path in files:
        for name, array in _read_header(path).items():
            if name in tensors:
                raise InvalidSourceError(
                    f"{path.name}: {name} also stands in {tensors[name].path.name}."
                )
            tensors[name] = array
    return tensors


def _read_header(path: Path) -> dict[str, StoredArray]:
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


def _check_layer_count(config: dict[str, Any], tensors: Collection[str]) -> None:
    """Before anything is made per layer: a damaged count would ask for any amount of memory."""
    count = config.get("num_hidden_layers")
    if isinstance(count, int) and count > len(tensors):
        raise InvalidSourceError(
            f"config.json: num_hidden_layers is {count:,}, but there are only "
            f"{len(tensors):,} tensors."
        )


def _settle_ties(config: dict[str, Any], tensors: dict[str, StoredArray]) -> tuple[str, ...]:
    """A stored lm_head beside the flag that ties it: a copy is dropped, a different one is used."""
    head, embedding = tensors.get("lm_head.weight"), tensors.get("model.embed_tokens.weight")
    if head is None or embedding is None or not create_spec(config).tie_word_embeddings:
        return ()
    if _have_equal_bytes(head, embedding):
        del tensors[head.name]
        return ()
    config["tie_word_embeddings"] = False
    return ("config.json ties lm_head, but a different lm_head.weight is stored; it is used.",)


def _have_equal_bytes(first: StoredArray, second: StoredArray) -> bool:
    if (first.shape, first.dtype) != (second.shape, second.dtype):
        return False
    step = rows_per_block(first.shape[-1])
    blocks = zip(first.rows.iter_blocks(step), second.rows.iter_blocks(step), strict=True)
    return all(np.array_equal(a, b) for (_, a), (_, b) in blocks)


def _create_parts(
    spec: ModelSpec, tensors: dict[str, StoredArray], name: str
) -> tuple[SourcePart, ...]:
    claims = TensorClaims(tensors)
    linears, vectors = [], []
    for canonical, shape in iter_linears(spec):
        weight = claims.take(f"{_hf_stem(canonical)}.weight", shape)
        bias = (
            claims.take(f"{_hf_stem(canonical)}.bias", shape[:1])
            if has_bias(spec, canonical)
            else None
        )
        if weight:
            linears.append(_create_linear(canonical, weight, bias))
    for canonical, vector_shape in iter_vectors(spec):
        vector = claims.take(f"{_hf_stem(canonical)}.weight", vector_shape)
        if vector:
            vectors.append(_create_vector(canonical, vector))
    # Old checkpoints store what everyone computes from rope_theta.
    inv_freq = [key for key in tensors if key.endswith(".rotary_emb.inv_freq")]
    claims.check(ignored=inv_freq, architecture=spec.architecture, file=name)
    return group_parts(linears, vectors)


def _hf_stem(canonical: str) -> str:
    return canonical if canonical == "lm_head" else f"model.{canonical}"


def _create_linear(name: str, weight: StoredArray, bias: StoredArray | None) -> SourceLinear:
    _check_float(weight)
    shape = (weight.shape[0], weight.shape[1])
    return SourceLinear(
        name=name,
        shape=shape,
        source_name=weight.name,
        source_type=_TYPE_NAMES[str(weight.dtype)],
        source_bytes=weight.num_bytes,
        is_quantized=False,
        native=None,
        load_native=partial(_refuse_native, weight.name),
        load_dense=partial(_load_float32, weight),
        load_raw=partial(_load, weight),
        load_bias=None if bias is None else partial(_load_vector, bias),
        iter_dense=partial(_iter_float32, weight),
    )


def _refuse_native(name: str) -> Any:
    raise AssertionError(f"{name} is dense; only a quantized linear has a native form")


def _create_vector(name: str, stored: StoredArray) -> SourceVector:
    _check_float(stored)
    return SourceVector(
        name, stored.shape, stored.name, stored.num_bytes, partial(_load_vector, stored)
    )


def _check_float(stored: StoredArray) -> None:
    if stored.dtype not in FLOATS:
        raise UnsupportedError(f"{stored.path.name}: {stored.name} has the dtype {stored.dtype}.")


def _load(stored: StoredArray) -> npt.NDArray[Any]:
    return _check_finite(stored, stored.rows.read().view(stored.dtype))


def _load_vector(stored: StoredArray) -> npt.NDArray[Any]:
    _check_float(stored)
    return _load(stored).reshape(-1)


def _load_float32(stored: StoredArray) -> npt.NDArray[np.float32]:
    return _load(stored).astype(np.float32)


def _iter_float32(stored: StoredArray) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
    for rows, raw in stored.rows.iter_blocks(rows_per_block(stored.shape[1])):
        yield rows, _check_finite(stored, raw.view(stored.dtype)).astype(np.float32)


def _check_finite(stored: StoredArray, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if not np.isfinite(values).all():
        raise InvalidSourceError(
            f"{stored.path.name}: {stored.name} is damaged: it holds a value that is not finite."
        )
    return values
