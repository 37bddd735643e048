"""GGUF files as a source: single or in shards, every type that gguf's own library decodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.converter.gguf_tokenizer import build_tokenizer_files
from app.converter.sources.base import Source, SourceLinear, SourcePart
from app.converter.sources.draft_layers import draft_notes, draft_tensors
from app.converter.sources.file_rows import FileRows
from app.converter.sources.gguf_blocks import NATIVE_TYPES
from app.converter.sources.gguf_decode import (
    FLOAT_TYPES,
    check_decodable,
    iter_dense,
    load_floats,
    load_native,
    load_rows,
)
from app.converter.sources.gguf_names import (
    LinearTensors,
    NameMap,
    TensorRows,
    map_names,
)
from app.converter.sources.gguf_shards import GgufModel, StoredTensor, open_gguf_model
from app.converter.sources.gguf_vectors import check_float, create_vector, load_values
from app.converter.sources.latent_expansion import join_expansion
from app.converter.sources.parts import group_parts
from app.converter.sources.rotary_order import rotary_order
from app.converter.sources.taken_columns import take_columns
from app.converter.sources.taken_rows import take_rows
from app.converter.sources.tiled_heads import tiled_columns, tiled_rows
from app.converter.sources.tokenizer_files import check_tokenizer_dir, iter_tokenizer_files
from app.core.errors import UnsupportedError
from app.core.sentence import Sentence
from app.spec.gguf_architecture import GgufArchitecture
from app.spec.gguf_architectures import ARCHITECTURES
from app.spec.gguf_config import architecture_of, config_from_gguf
from app.spec.gguf_rope import ROPE_TABLES
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from app.spec.rope import RopeType

_BLOCK_VERSION = 2
Order = npt.NDArray[np.intp] | None


class GgufSource(Source):
    """A GGUF model, checked whole: headers, shards, metadata, names, shapes and types."""

    format = "gguf"

    def __init__(self, path: Path, tokenizer_dir: Path | None = None) -> None:
        """Raises InvalidSourceError or UnsupportedError; reads no weight but ROPE_TABLES."""
        self._tokenizer_dir = tokenizer_dir
        if tokenizer_dir:
            check_tokenizer_dir(tokenizer_dir)
        model = open_gguf_model(path)
        self._model = model
        self.path, self.name, self.files = path, model.name, model.paths
        architecture = ARCHITECTURES[architecture_of(model.metadata, model.file)]
        _check_block_version(model)
        self.config = read_config(model)
        self.spec = create_spec(self.config)
        draft = draft_tensors(self.config, model.tensors, "blk.")
        names = map_names(self.spec, architecture, model.tensors, model.file, draft)
        self._parts = _create_parts(self.spec, architecture, names)
        linears = [linear for part in self._parts for linear in part.linears]
        self.is_quantized = any(linear.is_quantized for linear in linears)
        self.source_bytes = sum(path.stat().st_size for path in model.paths)
        self.notes = _notes(self.spec, architecture, model.metadata) + draft_notes(draft)

    def parts(self) -> tuple[SourcePart, ...]:
        return self._parts

    def iter_text_files(self) -> Iterator[tuple[str, str]]:
        if self._tokenizer_dir:
            return iter_tokenizer_files(self._tokenizer_dir, self.config)
        files = build_tokenizer_files(self._model.metadata, self.config, self._model.file)
        return iter(files.items())

    def close(self) -> None:
        """Nothing stays open between reads."""


def read_config(model: GgufModel) -> dict[str, Any]:
    """The Hugging Face configuration that the metadata and the tensors' headers amount to.

    Raises InvalidSourceError or UnsupportedError; reads no weight but ROPE_TABLES.
    """
    shapes = {name: stored.shape for name, stored in model.tensors.items()}
    tables = _load_rope_tables(model.tensors)
    return config_from_gguf(model.metadata, shapes, tables, file=model.file)


def _check_block_version(model: GgufModel) -> None:
    """Version 1 laid blocks out differently under the same type ids (ggml: GGML_QNT_VERSION)."""
    version = model.metadata.get("general.quantization_version", _BLOCK_VERSION)
    if type(version) is not int or version != _BLOCK_VERSION:
        raise UnsupportedError(
            "{file}: quantization version {version} is not supported, only {supported}.",
            file=model.file,
            version=str(version)[:20],
            supported=_BLOCK_VERSION,
        )


def _notes(
    spec: ModelSpec, architecture: GgufArchitecture, metadata: Mapping[str, Any]
) -> tuple[str, ...]:
    prefix = metadata["general.architecture"]
    lacking = {f"{prefix}.{key}": note for key, note in architecture.notes_without.items()}
    found = (architecture.note, *(note for key, note in lacking.items() if key not in metadata))
    notes = tuple(note for note in found if note)
    if spec.rope.rope_type is not RopeType.TABLE:
        return notes
    return (
        *notes,
        Sentence("rope_freqs.weight follows no rule that has a name; it is kept as a table."),
    )


def _create_parts(
    spec: ModelSpec, architecture: GgufArchitecture, names: NameMap
) -> tuple[SourcePart, ...]:
    linears = [
        _reorder_columns(
            spec, architecture, _create_linear(name, tensors, _row_order(spec, architecture, name))
        )
        for name, tensors in names.linears.items()
    ]
    linears += [
        _create_expansion(name, tensors, spec.num_attention_heads)
        for name, tensors in names.expansions.items()
    ]
    vectors = [
        create_vector(name, stored, spec, _row_order(spec, architecture, name))
        for name, stored in names.vectors.items()
    ]
    return group_parts(linears, vectors)


def _row_order(spec: ModelSpec, architecture: GgufArchitecture, name: str) -> Order:
    if architecture.has_tiled_values and spec.delta_net is not None:
        return tiled_rows(spec.delta_net, name)
    return rotary_order(spec, name) if architecture.neighbour_pairs else None


def _reorder_columns(
    spec: ModelSpec, architecture: GgufArchitecture, linear: SourceLinear
) -> SourceLinear:
    if not architecture.has_tiled_values or spec.delta_net is None:
        return linear
    columns = tiled_columns(spec.delta_net, linear.name)
    return linear if columns is None else take_columns(linear, columns)


def _create_expansion(
    name: str, tensors: tuple[LinearTensors, LinearTensors], num_heads: int
) -> SourceLinear:
    keys, values = (_create_linear(name, part, None) for part in tensors)
    return join_expansion(name, keys, values, num_heads)


def _create_linear(name: str, tensors: LinearTensors, order: Order) -> SourceLinear:
    info, path = tensors.weight.tensor.info, tensors.weight.tensor.path
    check_decodable(info.type, info.name, path.name)
    rows = _file_rows(tensors.weight, order)
    shape = (rows.num_rows, info.shape[-1])
    native = NATIVE_TYPES.get(info.type.name)
    scale = 1.0 if tensors.scale is None else float(load_values(tensors.scale)[0])
    dense_rows = partial(iter_dense, rows, info.type, shape, info.name, scale)
    is_float = info.type.name in FLOAT_TYPES
    linear = SourceLinear(
        name=name,
        shape=shape,
        source_name=info.name,
        source_type=info.type.name,
        source_bytes=rows.num_rows * rows.row_bytes,
        is_quantized=not is_float,
        native=native.quant if native else None,
        load_native=partial(load_native, rows, info.type, shape, info.name),
        load_dense=partial(_load_dense, dense_rows, shape),
        load_bias=_bias_loader(tensors.bias, order),
        iter_dense=dense_rows,
        load_rows=partial(load_rows, rows, info.type, info.name, scale),
    )
    return linear if tensors.taken is None else take_rows(linear, name, tensors.taken)


def _load_dense(
    dense_rows: Callable[[], Iterator[tuple[slice, npt.NDArray[np.float32]]]],
    shape: tuple[int, int],
) -> npt.NDArray[np.float32]:
    weight = np.empty(shape, np.float32)
    for part, block in dense_rows():
        weight[part] = block
    return weight


def _file_rows(rows: TensorRows, order: Order) -> FileRows:
    info = rows.tensor.info
    row_bytes = info.num_bytes // math.prod(info.shape[:-1])
    offset = info.offset + rows.start * row_bytes
    return FileRows(rows.tensor.path, offset, rows.stop - rows.start, row_bytes, order)


def _bias_loader(bias: TensorRows | None, order: Order) -> Callable[[], npt.NDArray[Any]] | None:
    if bias is None:
        return None
    check_float(bias.tensor, max_dimensions=2)  # of experts, one row each
    info = bias.tensor.info
    step = info.num_bytes // math.prod(info.shape)  # of a float, each a row of its own
    offset = info.offset + bias.start * step
    rows = FileRows(bias.tensor.path, offset, bias.stop - bias.start, step, order)
    return lambda: load_floats(rows, info.type, info.name).reshape(-1)


def _load_rope_tables(tensors: Mapping[str, StoredTensor]) -> dict[str, npt.NDArray[np.float32]]:
    tables = {name: tensors[name] for name in ROPE_TABLES if name in tensors}
    for stored in tables.values():
        check_float(stored)
    return {name: load_values(stored).astype(np.float32) for name, stored in tables.items()}
