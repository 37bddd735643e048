"""From ModelSpec and checkpoint to the native library's structures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.schemes import Linear, Scheme
from app.core.errors import UnsupportedError
from app.spec.model_spec import LayerType, ModelSpec
from kernels.cpu.loader import Config, LinearSource
from kernels.cpu.native import pointer

# The numbers of api.h.
_DENSE_CODES = {"float32": 0, "float16": 1, "bfloat16": 2}
_SCHEMES = {Scheme.SYM: 0, Scheme.ZERO: 1, Scheme.AFFINE: 2}
_SCALE_TYPES = {"float16": 0, "float32": 1, "uint8": 2, "int8": 3}
MAX_HEAD_DIM = 512


class PlannedLinear:
    """A `LinearSource` and the arrays it points into, kept alive with it."""

    def __init__(self, linear: Linear) -> None:
        arrays = {name: np.ascontiguousarray(array) for name, array in linear.arrays().items()}
        if linear.bias is not None:
            arrays["bias"] = np.ascontiguousarray(linear.bias, dtype=np.float32)
        self._arrays = arrays
        out_features, in_features = linear.shape
        self.source = LinearSource(out_features=out_features, in_features=in_features)
        self._point()
        if linear.quant is None:
            self.source.codes = _DENSE_CODES[arrays["weight"].dtype.name]
        else:
            self._describe(linear)

    def _point(self) -> None:
        for name, array in self._arrays.items():
            setattr(self.source, "weight" if name == "packed" else name, pointer(array))

    def _describe(self, linear: Linear) -> None:
        assert linear.quant is not None
        self.source.codes = linear.quant.bits
        self.source.group_size = linear.quant.group_size
        self.source.scheme = _SCHEMES[linear.quant.scheme]
        self.source.scale_type = _scale_type(self._arrays["scales"])
        self.source.bias_type = _scale_type(self._arrays.get("biases"))


def _scale_type(values: npt.NDArray[Any] | None) -> int:
    return 0 if values is None else _SCALE_TYPES[values.dtype.name]


def check_runnable(spec: ModelSpec) -> None:
    """Raises UnsupportedError naming the field that the kernels cannot honour."""
    if spec.hidden_act != "silu":
        raise UnsupportedError(
            f"The cpu executor does not implement hidden_act {spec.hidden_act!r}."
        )
    if spec.head_dim > MAX_HEAD_DIM:
        raise UnsupportedError(
            f"The cpu executor runs head_dim up to {MAX_HEAD_DIM}, not {spec.head_dim}."
        )


def native_config(
    spec: ModelSpec,
    max_model_len: int,
    num_slots: int,
    inv_freq: npt.NDArray[np.float32],
    *,
    kv_half: bool,
    int8_activations: bool,
) -> Config:
    """The `Config` of a spec; the caller keeps `inv_freq` alive until the model is made."""
    return Config(
        hidden_size=spec.hidden_size,
        intermediate_size=spec.intermediate_size,
        num_layers=spec.num_hidden_layers,
        num_heads=spec.num_attention_heads,
        num_kv_heads=spec.num_key_value_heads,
        head_dim=spec.head_dim,
        vocab_size=spec.vocab_size,
        rotary_dim=2 * len(inv_freq),
        max_model_len=max_model_len,
        num_slots=num_slots,
        kv_half=int(kv_half),
        int8_activations=int(int8_activations),
        rms_norm_eps=spec.rms_norm_eps,
        cos_sin_factor=spec.rope.cos_sin_factor,
        inv_freq=pointer(inv_freq),
    )


def window_of(spec: ModelSpec, layer: int) -> int:
    """Keys a query of this layer sees, itself included; 0 for all."""
    is_sliding = spec.layer_types[layer] is LayerType.SLIDING
    return spec.sliding_window or 0 if is_sliding else 0
