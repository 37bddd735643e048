"""A Hugging Face folder as a source: config.json, safetensors, dense or quantized linears."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from app.converter.sources.base import Source, SourceLinear, SourcePart
from app.converter.sources.claims import TensorClaims
from app.converter.sources.convolutions import has_shifted_norms, squeeze_kernels
from app.converter.sources.dense import DenseFormat, create_vector
from app.converter.sources.draft_layers import draft_notes, draft_tensors
from app.converter.sources.file_rows import rows_per_block
from app.converter.sources.foreign_folders import refuse_draft
from app.converter.sources.hf_folder import StoredArray, folder_name, read_json
from app.converter.sources.latent_expansion import find_halves, flatten_halves, join_expansion
from app.converter.sources.linear_format import Folder, LinearFormat, LinearPlace
from app.converter.sources.linear_formats import check_method, create_format
from app.converter.sources.parts import group_parts
from app.converter.sources.quantization_config import read_declaration
from app.converter.sources.stacked_experts import unstack_experts
from app.converter.sources.stored_linears import StoredLinears
from app.converter.sources.tokenizer_files import check_tokenizer_dir, iter_tokenizer_files
from app.converter.sources.weight_files import open_weights
from app.core.errors import InvalidSourceError
from app.core.sentence import Sentence
from app.spec.registry import create_spec, weight_names
from app.spec.text_part import text_config, wrapper_of
from app.spec.weight_names import WeightNames
from app.spec.weights import has_bias, has_norm_offset, iter_vectors

# What the native config.json must not repeat: the checkpoint's own manifest says it.
_QUANTIZATION_KEYS = ("quantization_config", "compression_config", "quantization")


class HuggingFaceSource(Source):
    """A folder checked whole: names, shapes, dtypes, and that all facts about it agree."""

    def __init__(self, path: Path, tokenizer_dir: Path | None = None) -> None:
        """Raises InvalidSourceError or UnsupportedError; reads only what must be judged by data."""
        self.path, self.name = path, folder_name(path)
        self._tokenizer_dir = tokenizer_dir or path
        check_tokenizer_dir(self._tokenizer_dir)
        config = read_json(path / "config.json")
        declaration = read_declaration(config, path)
        check_method(declaration, self.name)
        refuse_draft(config, self.name)
        weights = open_weights(path)
        tensors = weights.tensors
        notes, names = _text_notes(config), weight_names(config, tensors)
        config = text_config(config)
        _check_layer_count(config, tensors)
        notes += _settle_ties(config, names, tensors)
        spec = create_spec(config)
        shift = spec.norm_offset if has_shifted_norms(tensors) else 0.0
        tensors = flatten_halves(squeeze_kernels(unstack_experts(tensors, spec, names)))
        layout = StoredLinears(spec, names, tensors)
        folder = _create_folder(self.name, config, tensors, layout)
        quantized = create_format(declaration, folder)
        self.format = (quantized or _DENSE).name
        self.config = {key: config[key] for key in config if key not in _QUANTIZATION_KEYS}
        self.files = (path / "config.json", *weights.files)
        self._parts = _create_parts(folder, layout, quantized, shift)
        # A format knows what its labels got wrong once its linears are open.
        self.notes = notes + (quantized.notes if quantized else ())
        self.notes += draft_notes(_draft_tensors(folder, layout))
        self.is_quantized = quantized is not None
        self.source_bytes = sum(file.stat().st_size for file in weights.files)

    def parts(self) -> tuple[SourcePart, ...]:
        return self._parts

    def iter_text_files(self) -> Iterator[tuple[str, str]]:
        yield from iter_tokenizer_files(self._tokenizer_dir, self.config)

    def close(self) -> None:
        """Nothing stays open between reads."""


_DENSE = DenseFormat()


def _create_folder(
    name: str, config: dict[str, Any], tensors: dict[str, StoredArray], layout: StoredLinears
) -> Folder:
    return Folder(name, config, layout.spec, tensors, layout.stems, layout.shapes)


def _check_layer_count(config: dict[str, Any], tensors: Collection[str]) -> None:
    """Before anything is made per layer: a damaged count would ask for any amount of memory."""
    count = config.get("num_hidden_layers")
    if isinstance(count, int | float) and count > len(tensors):
        raise InvalidSourceError(
            "config.json: num_hidden_layers is {count:,}, but there are only {num_tensors:,} "
            "tensors.",
            count=count,
            num_tensors=len(tensors),
        )


def _text_notes(config: dict[str, Any]) -> tuple[str, ...]:
    name = wrapper_of(config)
    return (
        (Sentence("Only the language model of {name} is converted; it reads text.", name=name),)
        if name
        else ()
    )


def _settle_ties(
    config: dict[str, Any], names: WeightNames, tensors: dict[str, StoredArray]
) -> tuple[str, ...]:
    """A stored lm_head beside the flag that ties it: a copy is dropped, a different one is used."""
    head, embedding = (
        tensors.get(f"{names.stem(name)}.weight") for name in ("lm_head", "embed_tokens")
    )
    if head is None or embedding is None or not create_spec(config).tie_word_embeddings:
        return ()
    if _have_equal_bytes(head, embedding):
        del tensors[head.name]
        return ()
    config["tie_word_embeddings"] = False
    return (
        Sentence(
            "config.json ties lm_head, but a different {head} is stored; it is used.",
            head=head.name,
        ),
    )


def _have_equal_bytes(first: StoredArray, second: StoredArray) -> bool:
    if (first.shape, first.dtype) != (second.shape, second.dtype):
        return False
    if len(first.shape) != 2 or 0 in first.shape:
        return False
    step = rows_per_block(first.shape[-1])
    blocks = zip(first.rows.iter_blocks(step), second.rows.iter_blocks(step), strict=True)
    return all(np.array_equal(a, b) for (_, a), (_, b) in blocks)


def _create_parts(
    folder: Folder, layout: StoredLinears, quantized: LinearFormat | None, shift: float
) -> tuple[SourcePart, ...]:
    """`shift`: what norms have gained to which the family adds its offset."""
    claims = TensorClaims(folder.tensors)
    stored = {name: _open(folder, name, claims, quantized) for name in folder.shapes}
    linears = [
        layout.extract(canonical, whole)
        for canonical, holder in layout.holders.items()
        if (whole := stored[holder]) is not None
    ]
    vectors = []
    for canonical, shape in iter_vectors(folder.spec):
        vector = claims.take(layout.names.vector(canonical), shape)
        if vector:
            offset = shift if has_norm_offset(canonical) else 0.0
            vectors.append(create_vector(canonical, vector, offset))
    claims.check(
        ignored=_ignored(folder, layout, quantized),
        architecture=folder.spec.architecture,
        file=folder.name,
    )
    return group_parts(linears, vectors)


def _open(
    folder: Folder, name: str, claims: TensorClaims[StoredArray], quantized: LinearFormat | None
) -> SourceLinear | None:
    stem, shape = folder.stems[name], folder.shapes[name]
    halves = find_halves(folder.spec, name, stem, folder.tensors)
    if halves is not None:
        keys, values = (_open_place(place, claims, quantized) for place in halves)
        if keys is None or values is None:
            return None
        return join_expansion(name, keys, values, folder.spec.num_attention_heads)
    bias = claims.take(f"{stem}.bias", shape[:1]) if has_bias(folder.spec, name) else None
    return _open_place(LinearPlace(name, stem, shape, bias), claims, quantized)


def _open_place(
    place: LinearPlace, claims: TensorClaims[StoredArray], quantized: LinearFormat | None
) -> SourceLinear | None:
    if quantized is not None and quantized.is_stored(place.stem, claims):
        return quantized.open_linear(place, claims)
    return _DENSE.open_linear(place, claims)


def _draft_tensors(folder: Folder, layout: StoredLinears) -> set[str]:
    return draft_tensors(folder.config, folder.tensors, f"{layout.names.prefix}layers.")


def _ignored(folder: Folder, layout: StoredLinears, quantized: LinearFormat | None) -> set[str]:
    # Old checkpoints store what everyone computes from rope_theta.
    names = {name for name in folder.tensors if name.endswith(".rotary_emb.inv_freq")}
    names |= {name for name in folder.tensors if layout.names.is_ignored(name)}
    names |= _draft_tensors(folder, layout)
    return names | set(quantized.ignored(folder.tensors) if quantized else ())
