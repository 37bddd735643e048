"""A checkpoint's whole network on the device, layer by layer: no second copy, one layer in RAM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.checkpoint.reader import Checkpoint
from app.engine.executors.cuda.delta_weights import DeltaLoader, DeviceDelta
from app.engine.executors.cuda.expert_weights import DeviceExperts, ExpertsLoader
from app.engine.executors.cuda.latent_weights import DeviceLatent, LatentLoader
from app.engine.executors.cuda.launcher import Allocator, Buffer
from app.engine.executors.cuda.matrices import DeviceMatrix, interleave, stack, upload_matrix
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import MlpType, ModelSpec, QKNorm
from app.spec.weights import is_on_card, layer_linears, norm_names


@dataclass(frozen=True, slots=True)
class DeviceNorm:
    """float32 weight (the spec's offset added) and bias."""

    weight: Buffer
    bias: Buffer | None


@dataclass(frozen=True, slots=True)
class DeviceMlp:
    """`inputs` are [gate and up, interleaved], [up, gate], or [up] of a plain MLP."""

    inputs: list[DeviceMatrix]
    down_proj: DeviceMatrix


@dataclass(frozen=True, slots=True)
class DeviceLayer:
    """`projections` are q, k and v: one matrix where they are stored alike, else three.

    With `latent` or `delta` there are none, and with `delta` `o_proj` is its out_proj. Beside
    `experts`, `mlp` is the shared expert, if there is one.
    """

    o_proj: DeviceMatrix
    mlp: DeviceMlp | None
    experts: DeviceExperts | None
    norms: dict[str, DeviceNorm]
    projections: list[DeviceMatrix] = field(default_factory=list)
    latent: DeviceLatent | None = None
    delta: DeviceDelta | None = None
    output_gate: DeviceMatrix | None = None
    q_norm: Buffer | None = None
    k_norm: Buffer | None = None
    sinks: Buffer | None = None

    @property
    def num_bytes(self) -> int:
        """Bytes of all matrices; vectors are small."""
        matrices = [*self.projections, self.o_proj]
        if self.delta is not None:
            matrices += self.delta.projections
        if self.latent is not None:
            matrices += self.latent.iter_matrices()
        if self.output_gate is not None:
            matrices.append(self.output_gate)
        if self.mlp is not None:
            matrices += [*self.mlp.inputs, self.mlp.down_proj]
        experts = self.experts.num_bytes if self.experts is not None else 0
        return sum(matrix.num_bytes for matrix in matrices) + experts


@dataclass(frozen=True, slots=True)
class DeviceWeights:
    """`lm_head` is `embed_tokens` itself where they are tied."""

    embed_tokens: DeviceMatrix
    layers: list[DeviceLayer]
    norm: DeviceNorm
    lm_head: DeviceMatrix

    @property
    def num_bytes(self) -> int:
        """Bytes of all matrices; norms are small."""
        layers = (layer.num_bytes for layer in self.layers)
        head = 0 if self.lm_head is self.embed_tokens else self.lm_head.num_bytes
        return self.embed_tokens.num_bytes + sum(layers) + head


class WeightsLoader:
    """Uploads a checkpoint."""

    def __init__(self, allocator: Allocator, checkpoint: Checkpoint, spec: ModelSpec) -> None:
        self._allocator, self._checkpoint, self._spec = allocator, checkpoint, spec

    def load(self) -> DeviceWeights:
        """Raises UnsupportedError for a weight that the kernels cannot hold."""
        spec = self._spec
        on_host = not is_on_card(spec, "embed_tokens")
        embed_tokens = self._matrix("embed_tokens", on_host)
        layers = [self._load_layer(index) for index in range(spec.num_hidden_layers)]
        lm_head = embed_tokens if spec.tie_word_embeddings else self._matrix("lm_head")
        return DeviceWeights(embed_tokens, layers, self._norm("norm"), lm_head)

    def _load_layer(self, index: int) -> DeviceLayer:
        """A layer; what reading it took of the computer's memory is given back."""
        layer = self._layer(index)
        for name in layer_linears(self._spec, index):
            self._checkpoint.release(f"layers.{index}.{name}")
        return layer

    def _layer(self, index: int) -> DeviceLayer:
        spec, prefix = self._spec, f"layers.{index}"
        mixer = self._delta_net(index) if spec.is_linear(index) else self._attention(index)
        return DeviceLayer(
            **mixer,
            mlp=self._layer_mlp(index),
            experts=self._experts(index) if spec.is_sparse(index) else None,
            norms={name: self._norm(f"{prefix}.{name}") for name in norm_names(spec)},
        )

    def _delta_net(self, index: int) -> dict[str, Any]:
        """Fields of a linear layer."""
        prefix = f"layers.{index}.linear_attn"
        delta = DeltaLoader(self._allocator, self._checkpoint, prefix).load()
        return {"delta": delta, "o_proj": self._matrix(f"{prefix}.out_proj")}

    def _attention(self, index: int) -> dict[str, Any]:
        """Fields of any other."""
        spec, prefix = self._spec, f"layers.{index}.self_attn"
        has_qk_norm, has_gate = spec.qk_norm is not QKNorm.NONE, spec.attention_output_gate
        return {
            "projections": self._projections(prefix) if spec.mla is None else [],
            "latent": self._latent(prefix, spec.mla) if spec.mla is not None else None,
            "output_gate": self._matrix(f"{prefix}.output_gate") if has_gate else None,
            "o_proj": self._matrix(f"{prefix}.o_proj"),
            "q_norm": self._norm_weight(f"{prefix}.q_norm") if has_qk_norm else None,
            "k_norm": self._norm_weight(f"{prefix}.k_norm") if has_qk_norm else None,
            "sinks": self._vector(f"{prefix}.sinks") if spec.attention_sinks else None,
        }

    def _projections(self, prefix: str) -> list[DeviceMatrix]:
        names = [f"{prefix}.{short}_proj" for short in "qkv"]
        fused = stack([self._checkpoint.linear(name) for name in names])
        if fused is None:
            return [self._matrix(name) for name in names]
        return [upload_matrix(self._allocator, fused, f"{prefix}.qkv_proj")]

    def _latent(self, prefix: str, mla: MlaSpec) -> DeviceLatent:
        num_heads = self._spec.num_attention_heads
        return LatentLoader(self._allocator, self._checkpoint, mla, num_heads, prefix).load()

    def _layer_mlp(self, index: int) -> DeviceMlp | None:
        """The dense MLP, or the shared expert, if there is one."""
        prefix, moe = f"layers.{index}.mlp", self._spec.moe
        if moe is None or not self._spec.is_sparse(index):
            return self._mlp(prefix)
        return self._mlp(f"{prefix}.shared_expert") if moe.shared_intermediate_size else None

    def _mlp(self, prefix: str) -> DeviceMlp:
        return DeviceMlp(self._mlp_inputs(prefix), self._matrix(f"{prefix}.down_proj"))

    def _experts(self, index: int) -> DeviceExperts:
        prefix = f"layers.{index}.mlp"
        return ExpertsLoader(self._allocator, self._checkpoint, self._spec, prefix).load()

    def _mlp_inputs(self, prefix: str) -> list[DeviceMatrix]:
        up = f"{prefix}.up_proj"
        if self._spec.mlp_type is MlpType.PLAIN:
            return [self._matrix(up)]
        gate = f"{prefix}.gate_proj"
        fused = interleave(self._checkpoint.linear(gate), self._checkpoint.linear(up))
        if fused is None:
            return [self._matrix(up), self._matrix(gate)]
        return [upload_matrix(self._allocator, fused, f"{prefix}.gate_up_proj")]

    def _matrix(self, name: str, on_host: bool = False) -> DeviceMatrix:
        linear = self._checkpoint.linear(name)
        return upload_matrix(self._allocator, linear, name, on_host)

    def _norm(self, name: str) -> DeviceNorm:
        bias = self._vector(f"{name}.bias") if self._spec.norm_bias else None
        return DeviceNorm(self._norm_weight(name), bias)

    def _norm_weight(self, name: str) -> Buffer:
        weight = np.array(self._checkpoint.vector(name), np.float32)
        return self._allocator.upload_new(weight + np.float32(self._spec.norm_offset))

    def _vector(self, name: str) -> Buffer:
        return self._allocator.upload_new(np.array(self._checkpoint.vector(name), np.float32))
