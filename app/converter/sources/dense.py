"""A plain Hugging Face folder as a source: config.json and unquantized safetensors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import FLOATS
from app.converter.sources.base import Source, SourceLinear, SourcePart, SourceVector
from app.converter.sources.claims import TensorClaims
from app.converter.sources.file_rows import rows_per_block
from app.converter.sources.hf_folder import (
    StoredArray,
    find_weight_files,
    read_headers,
    read_json,
    refuse_quantized,
)
from app.converter.sources.parts import group_parts
from app.converter.sources.tokenizer_files import check_tokenizer_dir, iter_tokenizer_files
from app.core.errors import InvalidSourceError, UnsupportedError
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from app.spec.weights import has_bias, iter_linears, iter_vectors

_TYPE_NAMES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


class DenseSource(Source):
    """A folder of float32, float16 or bfloat16 weights, checked whole: names, shapes, dtypes."""

    format = "dense"

    def __init__(self, path: Path, tokenizer_dir: Path | None = None) -> None:
        """Raises InvalidSourceError or UnsupportedError; reads no weight."""
        self.path, self.name = path, path.resolve().name
        self._tokenizer_dir = tokenizer_dir or path
        check_tokenizer_dir(self._tokenizer_dir)
        self.config = read_json(path / "config.json")
        refuse_quantized(self.config, path)
        files = find_weight_files(path)
        tensors = read_headers(files)
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


def _check_layer_count(config: dict[str, Any], tensors: Collection[str]) -> None:
    """Before anything is made per layer: a damaged count would ask for any amount of memory."""
    count = config.get("num_hidden_layers")
    if isinstance(count, int | float) and count > len(tensors):
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
    if len(first.shape) != 2 or 0 in first.shape:
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
