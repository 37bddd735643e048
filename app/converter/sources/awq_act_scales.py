"""AutoAWQ's ScaledActivation: where a family has one, y = act(x) / scales enters the next linear.

awq/modules/act.py; written for MLPs without a gate (starcoder2, falcon, mpt, gptj, gpt_neox,
gpt_bigcode, bloom). Dropping the tensor makes a model that runs and talks nonsense.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from app.converter.sources.base import SourceLinear
from app.converter.sources.dense import load_float_vector
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Folder
from app.core.errors import InvalidSourceError

Floats = npt.NDArray[np.float32]

_SUFFIXES = (".act.scales", ".act_fn.scales", ".gelu_impl.scales")
_NEXT_LINEAR = ".mlp.down_proj"


def find_act_scales(folder: Folder) -> dict[str, StoredArray]:
    """The stored scales by the stem of the linear that they precede."""
    stem_of = {
        stem.rpartition(".")[0]: stem
        for canonical, stem in folder.stems.items()
        if canonical.endswith(_NEXT_LINEAR)
    }
    found = {}
    for suffix in _SUFFIXES:
        for name, stored in folder.tensors.items():
            parent = name.removesuffix(suffix)
            if parent != name and parent in stem_of:
                found[stem_of[parent]] = stored
    return found


def divide_columns(linear: SourceLinear, stored: StoredArray) -> SourceLinear:
    """The linear that takes act(x) itself: each column divided by its scale, in float32.

    Scales that are all 1 change nothing. No native scheme holds others, so a quantized linear is
    requantized then. Raises InvalidSourceError for scales that are zero or not finite.
    """
    scales = load_float_vector(stored).astype(np.float32)
    if not scales.all():
        raise InvalidSourceError(
            "{name}: {stored} holds a zero.", name=stored.path.name, stored=stored.name
        )
    if (scales == 1).all():
        return linear
    load_rows = linear.load_rows
    short = stored.name.rpartition(".mlp.")[2]
    return replace(
        linear,
        # A dense one is named for what it is now: float32.
        source_type=f"{linear.source_type} {short}" if linear.is_quantized else "F32",
        native=None,
        load_dense=partial(_load_divided, linear, scales),
        iter_dense=partial(_iter_divided, linear, scales),
        load_rows=None if load_rows is None else lambda rows: load_rows(rows) / scales,
    )


def _load_divided(linear: SourceLinear, scales: Floats) -> Floats:
    return np.asarray(linear.load_dense() / scales, np.float32)


def _iter_divided(linear: SourceLinear, scales: Floats) -> Iterator[tuple[slice, Floats]]:
    assert linear.iter_dense is not None
    for rows, weight in linear.iter_dense():
        yield rows, np.asarray(weight / scales, np.float32)
