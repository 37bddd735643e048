"""GPTQ folders: 2 to 8 bits, both zero conventions, act-order, overrides for single linears."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import FLOATS, I32
from app.checkpoint.schemes import Scheme
from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.dense import load_floats
from app.converter.sources.gptq_arrays import (
    GptqArrays,
    iter_dense,
    load_native,
    load_rows,
    read_zero_fields,
)
from app.converter.sources.gptq_config import GptqSettings, LinearSettings, read_settings
from app.converter.sources.gptq_layout import num_words
from app.converter.sources.gptq_zeros import Convention, judge_zeros
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.converter.sources.native_grid import column_order, native_scheme
from app.converter.sources.quantized_linear import create_quantized_linear
from app.core.errors import InvalidSourceError, UnsupportedError
from app.core.sentence import Sentence
from app.spec.weights import has_bias


class GptqFormat(LinearFormat):
    """`.qweight`, `.qzeros`, `.scales` and perhaps `.g_idx` for each quantized linear.

    Zero points and g_idx are read when a linear is opened: only they tell which scheme holds it.
    """

    name = "gptq"

    def __init__(self, folder: Folder, settings: GptqSettings) -> None:
        self._folder, self._settings = folder, settings
        self._num_mislabelled = 0
        # Writers store one for each linear or for none: where it alone is missing, it got lost.
        self._has_orders = any(name.endswith(".g_idx") for name in folder.tensors)

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        return f"{stem}.qweight" in tensors

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        settings = self._settings_of(place)
        arrays = self._take(place, settings, tensors)
        if arrays is None:
            return None
        scheme = Scheme.SYM if arrays.zeros.is_centred else Scheme.ZERO
        quant = native_scheme(
            settings.bits, arrays.group_size, place.shape[1], scheme, arrays.scales.dtype
        )
        return create_quantized_linear(
            place,
            _describe(arrays),
            (arrays.qweight, arrays.qzeros, arrays.scales),
            partial(load_rows, arrays),
            None if quant is None else (quant, partial(load_native, arrays, quant)),
            partial(iter_dense, arrays),
        )

    def ignored(self, tensors: Mapping[str, StoredArray]) -> Collection[str]:
        """Biases of zeros that AutoGPTQ stores for linears that have none."""
        spec, stems = self._folder.spec, self._folder.stems
        names = {f"{stem}.bias" for name, stem in stems.items() if not has_bias(spec, name)}
        return {name for name in names & tensors.keys() if not load_floats(tensors[name]).any()}

    def _settings_of(self, place: LinearPlace) -> LinearSettings:
        if place.name == "embed_tokens":
            raise UnsupportedError(
                "{name}: GPTQ input embeddings are not supported.", name=self._folder.name
            )
        settings = self._settings.of_linear(place.stem)
        if settings is None:
            raise InvalidSourceError(
                "{name}: {where} says that {stem} is not quantized, but it is stored as GPTQ.",
                name=self._folder.name,
                where=self._settings.where,
                stem=place.stem,
            )
        return settings

    def _take(
        self, place: LinearPlace, settings: LinearSettings, tensors: TensorClaims[StoredArray]
    ) -> GptqArrays | None:
        shapes = stored_shapes(place.shape, settings)
        found = {name: tensors.take(f"{place.stem}.{name}", shapes[name]) for name in shapes}
        qweight, qzeros, scales = found["qweight"], found["qzeros"], found["scales"]
        name = f"{place.stem}.g_idx"
        g_idx = tensors.take(name, place.shape[1:]) if self._has_orders else None
        if qweight is None or qzeros is None or scales is None:
            return None
        if self._has_orders and g_idx is None:
            return None
        _check_dtypes((qweight, qzeros), scales)
        fields = read_zero_fields(qzeros, settings, place.shape)
        zeros = judge_zeros(fields, settings, self._settings, place.stem)
        if settings.stores_zero_less_one is (zeros.convention is Convention.STORED):
            self._note_mislabelled()
        order = None if g_idx is None else _read_order(g_idx, _width(settings, place.shape))
        return GptqArrays(place.shape, settings, zeros, qweight, qzeros, scales, order)

    def _note_mislabelled(self) -> None:
        self._num_mislabelled += 1
        self.notes = (
            Sentence(
                "The zero points of {num_linears} linears follow another convention than the "
                "layout {label} ({where}); the data was believed.",
                num_linears=self._num_mislabelled,
                label=self._settings.label,
                where=self._settings.where,
            ),
        )


def from_folder(declaration: Declaration, folder: Folder) -> LinearFormat:
    """Raises UnsupportedError for layouts refused by name, InvalidSourceError for disagreement."""
    return create_gptq(read_settings(declaration, folder.name), folder)


def create_gptq(settings: GptqSettings, folder: Folder) -> GptqFormat:
    """The format with settings that are read already (AutoRound words them differently)."""
    if _looks_like_awq(folder, settings):
        raise InvalidSourceError(
            "{name}: {where} says GPTQ, but the shapes of its tensors are AWQ's.",
            name=folder.name,
            where=settings.where,
        )
    return GptqFormat(folder, settings)


def stored_shapes(shape: tuple[int, int], settings: LinearSettings) -> dict[str, tuple[int, ...]]:
    """The shapes of a linear's three arrays."""
    (out_features, in_features), bits = shape, settings.bits
    groups = -(-in_features // _width(settings, shape))
    return {
        "qweight": (num_words(in_features, bits), out_features),
        "qzeros": (groups, num_words(out_features, bits)),
        "scales": (groups, out_features),
    }


def _looks_like_awq(folder: Folder, settings: GptqSettings) -> bool:
    """Whether no quantized linear has GPTQ's shape, and one, not square, has AWQ's."""
    awq = False
    for canonical, stem in folder.stems.items():
        qweight, linear = folder.tensors.get(f"{stem}.qweight"), settings.of_linear(stem)
        if qweight is None or linear is None:
            continue
        out_features, in_features = shape = folder.shapes[canonical]
        if qweight.shape == stored_shapes(shape, linear)["qweight"]:
            return False
        awq |= qweight.shape == (in_features, num_words(out_features, linear.bits))
    return awq


def _width(settings: LinearSettings, shape: tuple[int, int]) -> int:
    return shape[1] if settings.group_size < 0 else min(settings.group_size, shape[1])


def _read_order(stored: StoredArray, group_size: int) -> npt.NDArray[np.int32] | None:
    """The columns sorted by group. All zeros means what an absent g_idx means: in order."""
    if stored.dtype != I32:
        raise UnsupportedError(
            "{name}: {stored} has the dtype {dtype}.",
            name=stored.path.name,
            stored=stored.name,
            dtype=stored.dtype,
        )
    g_idx = stored.load()
    return column_order(g_idx, group_size, stored.name) if g_idx.any() else None


def _check_dtypes(words: tuple[StoredArray, StoredArray], scales: StoredArray) -> None:
    for stored in (*words, scales):
        if stored.dtype not in (FLOATS if stored is scales else (I32,)):
            raise UnsupportedError(
                "{name}: {stored} has the dtype {dtype}.",
                name=stored.path.name,
                stored=stored.name,
                dtype=stored.dtype,
            )


def _describe(arrays: GptqArrays) -> str:
    group = "row" if arrays.settings.group_size < 0 else f"g{arrays.settings.group_size}"
    order = "" if arrays.order is None else " act-order"
    return f"GPTQ int{arrays.settings.bits} {group}{order}"
