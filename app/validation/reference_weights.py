"""transformers' module with a subject's real weights, in float32.

A dense folder is loaded by transformers itself, which owes nothing to our reader. Of every other
source the weights are what our reader decodes, put back under the family's published names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.converter.sources.base import Source, SourceLinear
from app.converter.sources.convolutions import squeeze_kernels
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.stacked_experts import unstack_experts
from app.converter.sources.stored_linears import StoredLinears
from app.core.jobs import CancelToken
from app.core.sentence import Sentence
from app.spec.moe_config import QWEN_MOE_NAMES
from app.spec.registry import create_spec, weight_names
from app.spec.text_part import wrapper_of
from app.spec.weights import iter_linears, iter_vectors
from app.validation.check import NotRunError
from app.validation.reference_model import ReferenceClass
from app.validation.subject import Subject

Floats = npt.NDArray[np.float32]
# Where the module's names are not the published ones.
_MODULE_NAMES = {"mixtral": QWEN_MOE_NAMES}
# (weight [out, in], bias [out] or None) of a canonical linear; a canonical vector.
LoadLinear = Callable[[str], tuple[Floats, Floats | None]]
LoadVector = Callable[[str], Floats]


def load_reference(subject: Subject, reference: ReferenceClass, cancel: CancelToken) -> Any:
    """Raises NotRunError where the weights cannot be put into transformers' module."""
    source = subject.source
    if source is not None and source.format == "dense" and wrapper_of(subject.raw_config) is None:
        return _load_folder(source.path, reference)
    if subject.checkpoint is not None:
        linear, vector = _native_loaders(subject.checkpoint)
    else:
        assert source is not None
        linear, vector = _source_loaders(source)
    return _fill(subject.config, reference, linear, vector, cancel)


def is_independent(subject: Subject) -> bool:
    """Whether transformers reads the files itself."""
    source = subject.source
    return source is not None and source.format == "dense" and not wrapper_of(subject.raw_config)


def _load_folder(path: Path, reference: ReferenceClass) -> Any:
    import torch

    return reference.model_class.from_pretrained(
        path,
        config=reference.config_class.from_pretrained(path),
        dtype=torch.float32,
        attn_implementation="eager",
        local_files_only=True,
    ).eval()


def _native_loaders(checkpoint: Checkpoint) -> tuple[LoadLinear, LoadVector]:
    def load(name: str) -> tuple[Floats, Floats | None]:
        linear = checkpoint.linear(name)
        bias = None if linear.bias is None else np.array(linear.bias, np.float32)
        return dequantize(linear), bias

    return load, lambda name: np.array(checkpoint.vector(name), np.float32)


def _source_loaders(source: Source) -> tuple[LoadLinear, LoadVector]:
    linears = {linear.name: linear for part in source.parts() for linear in part.linears}
    vectors = {vector.name: vector for part in source.parts() for vector in part.vectors}

    def load(name: str) -> tuple[Floats, Floats | None]:
        linear = linears[name]
        bias = None if linear.load_bias is None else linear.load_bias().astype(np.float32)
        return linear.load_dense(), bias

    return load, lambda name: vectors[name].load().astype(np.float32)


def _fill(
    config: Mapping[str, Any],
    reference: ReferenceClass,
    load_linear: LoadLinear,
    load_vector: LoadVector,
    cancel: CancelToken,
) -> Any:
    """Writes canonical rows to the rows where the published tensors have them."""
    import torch

    model = reference.create_empty({**config, "dtype": "float32", "torch_dtype": "float32"})
    places = _Places(config, model.state_dict())
    with torch.no_grad():
        for name, rows in places.iter_linears():
            cancel.check()
            weight, bias = load_linear(name)
            places.write(name, "weight", rows, weight)
            if bias is not None:
                places.write(name, "bias", rows, bias)
        for name in places.vectors:
            places.write_vector(name, load_vector(name))
    model.tie_weights()
    return model


class _Places:
    """Where transformers' state has each canonical tensor."""

    def __init__(self, config: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        self._state = state
        arrays = {
            name: StoredArray(name, Path("state"), np.dtype(np.float32), tuple(tensor.shape), 0)
            for name, tensor in state.items()
        }
        spec = create_spec(config)
        self._names = _MODULE_NAMES.get(spec.family) or weight_names(config, arrays)
        self._arrays = squeeze_kernels(unstack_experts(arrays, spec, self._names))
        self._layout = StoredLinears(spec, self._names, self._arrays)
        self._linears = [name for name, _ in iter_linears(spec)]
        self.vectors = [name for name, _ in iter_vectors(spec)]

    def iter_linears(self) -> Iterator[tuple[str, npt.NDArray[np.intp]]]:
        """(canonical name, the stored row of each of its rows)."""
        for name in self._linears:
            yield name, self._stored_rows(name)

    def _stored_rows(self, name: str) -> npt.NDArray[np.intp]:
        """What the reader of folders would take, asked with a matrix of row numbers."""
        holder = self._layout.holders[name]
        shape = self._layout.shapes[holder]
        numbers = np.arange(shape[0], dtype=np.float32)[:, None]
        whole = SourceLinear(
            name, (shape[0], 1), name, "F32", 0, False, None, _nothing, partial(np.array, numbers)
        )
        return self._layout.extract(name, whole).load_dense()[:, 0].astype(np.intp)

    def write(self, name: str, array: str, rows: npt.NDArray[np.intp], values: Floats) -> None:
        """Rows of a weight or a bias."""
        import torch

        stem = self._layout.stems[self._layout.holders[name]]
        target = self._target(f"{stem}.{array}")
        target[torch.from_numpy(rows)] = torch.from_numpy(np.ascontiguousarray(values))

    def write_vector(self, name: str, values: Floats) -> None:
        """A norm, or what else is no matrix."""
        import torch

        target = self._target(self._names.vector(name))
        target.copy_(torch.from_numpy(np.array(values)).reshape(target.shape))

    def _target(self, name: str) -> Any:
        """A tensor of the state, or of a stack the part that is one expert's."""
        if name not in self._arrays:
            raise NotRunError(
                Sentence("transformers' module has no {name} to put weights into", name=name)
            )
        array = self._arrays[name]
        tensor = self._state[array.name]
        if array.name == name:
            return tensor.view(array.shape)
        row_bytes = 4 * int(np.prod(tensor.shape[1:]))
        part = tensor[array.offset // row_bytes]
        return part.T if array.strides is not None else part


def _nothing() -> Any:
    raise AssertionError("row numbers have no native form")
