"""What of a GGUF file is no matrix: norms, biases of routing, kernels of convolutions, decays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from app.converter.sources.base import SourceVector
from app.converter.sources.file_rows import FileRows
from app.converter.sources.gguf_decode import FLOAT_TYPES, load_floats
from app.converter.sources.gguf_shards import StoredTensor
from app.converter.sources.taken_rows import Rows
from app.core.errors import InvalidSourceError, UnsupportedError
from app.spec.model_spec import ModelSpec
from app.spec.weights import has_norm_offset

_KERNEL, _DECAY = ".linear_attn.conv1d", ".linear_attn.A_log"


def create_vector(
    name: str, stored: StoredTensor, spec: ModelSpec, order: Rows | None
) -> SourceVector:
    """The vector `name`; `order` is the place in the file of each of its entries, or rows.

    Raises UnsupportedError unless it is one of floats.
    """
    check_float(stored, max_dimensions=2 if name.endswith(_KERNEL) else 1)
    info = stored.info
    load = partial(_load, name, stored, spec, order)
    return SourceVector(name, info.shape, info.name, info.num_bytes, load)


def load_values(stored: StoredTensor) -> npt.NDArray[Any]:
    """All floats in their own shape and dtype."""
    info = stored.info
    rows = FileRows(stored.path, info.offset, 1, info.num_bytes)
    return load_floats(rows, info.type, info.name).reshape(info.shape)


def check_float(stored: StoredTensor, max_dimensions: int = 1) -> None:
    """UnsupportedError for whatever is quantized, or has more dimensions."""
    info = stored.info
    if info.type.name not in FLOAT_TYPES or len(info.shape) > max_dimensions:
        raise UnsupportedError(
            "{name}: tensor {tensor!r} of type {type} must be a vector of floats.",
            name=stored.path.name,
            tensor=info.name,
            type=info.type.name,
        )


def _load(name: str, stored: StoredTensor, spec: ModelSpec, order: Rows | None) -> npt.NDArray[Any]:
    """llama.cpp stores what is computed with, the checkpoint what its family stores."""
    values = load_values(stored)
    values = values if order is None else values[order]
    if name.endswith(_DECAY):
        return _log_decay(stored, values)
    if spec.norm_offset and has_norm_offset(name):
        return values - np.float32(spec.norm_offset)
    return values


def _log_decay(stored: StoredTensor, values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """A_log of -exp(A_log); 0 is where that underflowed, and the state does not decay."""
    single = values.astype(np.float32)
    if (single > 0).any():
        raise InvalidSourceError(
            "{name}: tensor {tensor!r} is damaged: states would grow.",
            name=stored.path.name,
            tensor=stored.info.name,
        )
    return np.log(np.maximum(-single, np.finfo(np.float32).tiny))
