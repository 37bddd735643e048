"""From a checkpoint to the native library's linears and layers."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import Linear, Scheme
from app.engine.executors.cpu_plan import RopePlan
from app.spec.delta_net_spec import decay_rates
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import MlpType, ModelSpec, QKNorm
from app.spec.weights import norm_names
from kernels.cpu.native import Context, NativeLinear, pointer
from kernels.cpu.structures import Layer, LinearSource, Mlp, Norm

# The numbers of api.h.
_DENSE_CODES = {"float32": 0, "float16": 1, "bfloat16": 2}
_SCHEMES = {Scheme.SYM: 0, Scheme.ZERO: 1, Scheme.AFFINE: 2}
_SCALE_TYPES = {"float16": 0, "float32": 1, "uint8": 2, "int8": 3}
_NORM_FIELDS = {
    "input_layernorm": "input_norm",
    "post_self_attn_layernorm": "post_self_attn_norm",
    "post_attention_layernorm": "post_attention_norm",
    "post_mlp_layernorm": "post_mlp_norm",
}


class PlannedLinear:
    """A `LinearSource` and the arrays it points into, kept alive with it.

    `six_bits`: codes of eight bits that fit six may be kept with six; every product has the same
    bits, and is faster with int8 activations, slower with float32 ones.
    """

    def __init__(self, linear: Linear, *, six_bits: bool = False) -> None:
        arrays = {
            name: np.require(array, None, ["C", "A"]) for name, array in linear.arrays().items()
        }
        if linear.bias is not None:
            arrays["bias"] = np.require(linear.bias, np.float32, ["C", "A"])
        self._arrays = arrays
        out_features, in_features = linear.shape
        self.source = LinearSource(
            out_features=out_features, in_features=in_features, six_bits=six_bits
        )
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


class NativeWeights:
    """Packs a checkpoint's linears for a context, which must outlive them.

    Vectors are kept until `drop_vectors`: the library copies them when the model is made.
    `six_bits` is `PlannedLinear`'s.
    """

    def __init__(self, context: Context, spec: ModelSpec, *, six_bits: bool) -> None:
        self._context = context
        self._spec = spec
        self._six_bits = six_bits
        self._linears: list[NativeLinear] = []
        self._kept: list[Any] = []
        self._vector_bytes = 0

    @property
    def num_bytes(self) -> int:
        """Bytes of all packed linears and of the vectors that the library has copied."""
        return sum(linear.num_bytes for linear in self._linears) + self._vector_bytes

    def linear(self, checkpoint: Checkpoint, name: str) -> NativeLinear:
        """Packs the linear `embed_tokens`, `layers.0.mlp.up_proj` ..."""
        planned = PlannedLinear(checkpoint.linear(name), six_bits=self._six_bits)
        linear = NativeLinear(self._context, planned.source)
        checkpoint.release(name)
        self._linears.append(linear)
        return linear

    def norm(self, checkpoint: Checkpoint, name: str) -> Norm:
        """A norm over hidden_size with the spec's offset and bias."""
        bias = self._vector(checkpoint, f"{name}.bias") if self._spec.norm_bias else None
        return Norm(self._vector(checkpoint, name, self._spec.norm_offset), bias)

    def layer(self, checkpoint: Checkpoint, index: int, ropes: RopePlan) -> Layer:
        """The whole decoder layer."""
        spec, prefix = self._spec, f"layers.{index}"
        layer = Layer(
            sliding_window=spec.layer_window(index) or 0,
            rope=ropes.index_of(spec.layer_rope(index)),
        )
        for name in norm_names(spec):
            setattr(layer, _NORM_FIELDS[name], self.norm(checkpoint, f"{prefix}.{name}"))
        if spec.is_linear(index):
            self._fill_delta_net(layer, checkpoint, f"{prefix}.linear_attn")
        else:
            self._fill_attention(layer, checkpoint, f"{prefix}.self_attn")
        if spec.is_sparse(index):
            self._fill_moe(layer, checkpoint, f"{prefix}.mlp")
        else:
            layer.mlp = self._mlp(checkpoint, f"{prefix}.mlp")
        return layer

    def drop_vectors(self) -> None:
        """Once the model is made."""
        self._kept.clear()

    def close(self) -> None:
        """Frees all linears; the model comes first."""
        for linear in self._linears:
            linear.close()
        self._linears.clear()
        self._vector_bytes = 0

    def _fill_attention(self, layer: Layer, checkpoint: Checkpoint, prefix: str) -> None:
        spec = self._spec
        if spec.mla is not None:
            self._fill_latent(layer, spec.mla, checkpoint, prefix)
        else:
            for name in ("q", "k", "v"):
                setattr(layer, name, self._handle(checkpoint, f"{prefix}.{name}_proj"))
        layer.o = self._handle(checkpoint, f"{prefix}.o_proj")
        if spec.attention_output_gate:
            layer.output_gate = self._handle(checkpoint, f"{prefix}.output_gate")
        if spec.qk_norm is not QKNorm.NONE:
            layer.q_norm = self._vector(checkpoint, f"{prefix}.q_norm", spec.norm_offset)
            layer.k_norm = self._vector(checkpoint, f"{prefix}.k_norm", spec.norm_offset)
        if spec.attention_sinks:
            layer.sinks = self._vector(checkpoint, f"{prefix}.sinks")

    def _fill_latent(self, layer: Layer, mla: MlaSpec, checkpoint: Checkpoint, prefix: str) -> None:
        if mla.q_lora_rank is None:
            layer.q = self._handle(checkpoint, f"{prefix}.q_proj")
        else:
            layer.q_a = self._handle(checkpoint, f"{prefix}.q_a_proj")
            layer.q_a_norm = self._vector(checkpoint, f"{prefix}.q_a_layernorm")
            layer.q = self._handle(checkpoint, f"{prefix}.q_b_proj")
        layer.kv_a = self._handle(checkpoint, f"{prefix}.kv_a_proj_with_mqa")
        layer.kv_a_norm = self._vector(checkpoint, f"{prefix}.kv_a_layernorm")
        layer.kv_b = self._handle(checkpoint, f"{prefix}.kv_b_proj")

    def _fill_delta_net(self, layer: Layer, checkpoint: Checkpoint, prefix: str) -> None:
        for name in ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj"):
            setattr(layer, name, self._handle(checkpoint, f"{prefix}.{name}"))
        layer.conv1d = self._keep(_floats(checkpoint, f"{prefix}.conv1d").T)
        layer.decay = self._keep(decay_rates(_floats(checkpoint, f"{prefix}.A_log")))
        layer.dt_bias = self._vector(checkpoint, f"{prefix}.dt_bias")
        layer.delta_norm = self._vector(checkpoint, f"{prefix}.norm")

    def _fill_moe(self, layer: Layer, checkpoint: Checkpoint, prefix: str) -> None:
        moe = self._spec.moe
        assert moe is not None
        layer.router = self._handle(checkpoint, f"{prefix}.router")
        if moe.score_correction_bias:
            layer.router_correction = self._vector(checkpoint, f"{prefix}.router_correction")
        stems = (f"{prefix}.experts.{expert}" for expert in range(moe.num_experts))
        experts = (Mlp * moe.num_experts)(*(self._mlp(checkpoint, stem) for stem in stems))
        self._kept.append(experts)
        layer.experts = ctypes.addressof(experts)
        if moe.shared_intermediate_size:
            layer.shared_expert = self._mlp(checkpoint, f"{prefix}.shared_expert")
        if moe.shared_expert_gate:
            layer.shared_expert_gate = self._handle(checkpoint, f"{prefix}.shared_expert_gate")

    def _mlp(self, checkpoint: Checkpoint, prefix: str) -> Mlp:
        is_gated = self._spec.mlp_type is MlpType.GATED
        return Mlp(
            gate=self._handle(checkpoint, f"{prefix}.gate_proj") if is_gated else None,
            up=self._handle(checkpoint, f"{prefix}.up_proj"),
            down=self._handle(checkpoint, f"{prefix}.down_proj"),
        )

    def _handle(self, checkpoint: Checkpoint, name: str) -> int:
        return self.linear(checkpoint, name).handle

    def _vector(self, checkpoint: Checkpoint, name: str, offset: float = 0.0) -> int | None:
        return self._keep(_floats(checkpoint, name) + np.float32(offset))

    def _keep(self, values: npt.NDArray[np.float32]) -> int | None:
        array = np.ascontiguousarray(values)
        self._kept.append(array)
        self._vector_bytes += array.nbytes
        return pointer(array)


def _floats(checkpoint: Checkpoint, name: str) -> npt.NDArray[np.float32]:
    return np.array(checkpoint.vector(name), dtype=np.float32)
