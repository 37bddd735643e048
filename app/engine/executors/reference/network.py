"""A checkpoint's whole network, decoded to float32 once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.engine.executors.reference.attention import Attention
from app.engine.executors.reference.cache import ChunkContext
from app.engine.executors.reference.delta_net import DeltaNet
from app.engine.executors.reference.heads import LatentHeads, ProjectedHeads
from app.engine.executors.reference.mlp import MixtureOfExperts, Mlp, create_expert
from app.engine.executors.reference.modules import Linear, Norm, identity, softcap
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import MlpType, ModelSpec, QKNorm
from app.spec.weights import norm_names

Tensor = torch.Tensor
Block = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class DecoderLayer:
    """Attention, or a delta net, and MLP around the residual.

    Norms that the placement lacks are the identity.
    """

    attention: Attention | DeltaNet
    mlp: Block
    input_layernorm: Block
    post_self_attn_layernorm: Block
    post_attention_layernorm: Block
    post_mlp_layernorm: Block
    residual_multiplier: float

    def __call__(self, hidden: Tensor, context: ChunkContext) -> Tensor:
        """[n, hidden_size] -> [n, hidden_size]."""
        out = self.attention(self.input_layernorm(hidden), context)
        hidden = hidden + self.post_self_attn_layernorm(out) * self.residual_multiplier
        out = self.mlp(self.post_attention_layernorm(hidden))
        return hidden + self.post_mlp_layernorm(out) * self.residual_multiplier


@dataclass(frozen=True, slots=True)
class Network:
    """embed_tokens [vocab_size, hidden_size] serves as `lm_head` when tied."""

    spec: ModelSpec
    embed_tokens: Tensor
    layers: list[DecoderLayer]
    norm: Norm
    lm_head: Linear
    num_bytes: int

    def hidden_states(self, token_ids: Tensor, context: ChunkContext) -> Tensor:
        """int64 [n] -> [n, hidden_size], before the last norm."""
        hidden = self.embed_tokens[token_ids] * self.spec.embedding_multiplier
        for layer in self.layers:
            hidden = layer(hidden, context)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """[n, hidden_size] -> [n, vocab_size]."""
        logits = self.lm_head(self.norm(hidden)) * self.spec.logits_multiplier
        return softcap(logits, self.spec.final_logit_softcapping)


def load_network(checkpoint: Checkpoint, spec: ModelSpec) -> Network:
    """Copies every tensor as float32, so that none of them keeps a file mapping open."""
    return _Loader(checkpoint, spec).load()


class _Loader:
    def __init__(self, checkpoint: Checkpoint, spec: ModelSpec) -> None:
        self._checkpoint = checkpoint
        self._spec = spec
        self._num_bytes = 0

    def load(self) -> Network:
        spec = self._spec
        embed_tokens = self._linear("embed_tokens")
        layers = [self._layer(index) for index in range(spec.num_hidden_layers)]
        norm = self._norm("norm")
        lm_head = embed_tokens if spec.tie_word_embeddings else self._linear("lm_head")
        return Network(spec, embed_tokens.weight, layers, norm, lm_head, self._num_bytes)

    def _layer(self, index: int) -> DecoderLayer:
        prefix = f"layers.{index}"
        norms: dict[str, Block] = {
            name: self._norm(f"{prefix}.{name}") for name in norm_names(self._spec)
        }
        is_sparse = self._spec.is_sparse(index)
        return DecoderLayer(
            attention=self._delta_net(index)
            if self._spec.is_linear(index)
            else self._attention(index),
            mlp=self._moe(f"{prefix}.mlp") if is_sparse else self._mlp(f"{prefix}.mlp"),
            input_layernorm=norms.get("input_layernorm", identity),
            post_self_attn_layernorm=norms.get("post_self_attn_layernorm", identity),
            post_attention_layernorm=norms.get("post_attention_layernorm", identity),
            post_mlp_layernorm=norms.get("post_mlp_layernorm", identity),
            residual_multiplier=self._spec.residual_multiplier,
        )

    def _attention(self, index: int) -> Attention:
        spec, prefix = self._spec, f"layers.{index}.self_attn"
        mla = spec.mla
        has_gate = spec.attention_output_gate
        return Attention(
            index=index,
            cache_index=spec.cache_index(index),
            spec=spec,
            heads=self._heads(prefix) if mla is None else self._latent_heads(prefix, mla),
            o_proj=self._linear(f"{prefix}.o_proj"),
            sinks=self._vector(f"{prefix}.sinks") if spec.attention_sinks else None,
            output_gate=self._linear(f"{prefix}.output_gate") if has_gate else None,
        )

    def _delta_net(self, index: int) -> DeltaNet:
        spec, prefix = self._spec, f"layers.{index}.linear_attn"
        assert spec.delta_net is not None
        return DeltaNet(
            index=index,
            spec=spec.delta_net,
            in_proj_qkv=self._linear(f"{prefix}.in_proj_qkv"),
            in_proj_z=self._linear(f"{prefix}.in_proj_z"),
            in_proj_b=self._linear(f"{prefix}.in_proj_b"),
            in_proj_a=self._linear(f"{prefix}.in_proj_a"),
            conv1d=self._vector(f"{prefix}.conv1d"),
            A_log=self._vector(f"{prefix}.A_log"),
            dt_bias=self._vector(f"{prefix}.dt_bias"),
            norm=Norm(self._vector(f"{prefix}.norm"), None, spec.rms_norm_eps),
            out_proj=self._linear(f"{prefix}.out_proj"),
        )

    def _heads(self, prefix: str) -> ProjectedHeads:
        has_norm = self._spec.qk_norm is not QKNorm.NONE
        return ProjectedHeads(
            spec=self._spec,
            q_proj=self._linear(f"{prefix}.q_proj"),
            k_proj=self._linear(f"{prefix}.k_proj"),
            v_proj=self._linear(f"{prefix}.v_proj"),
            q_norm=self._rms_norm(f"{prefix}.q_norm") if has_norm else identity,
            k_norm=self._rms_norm(f"{prefix}.k_norm") if has_norm else identity,
        )

    def _latent_heads(self, prefix: str, mla: MlaSpec) -> LatentHeads:
        is_low = mla.q_lora_rank is not None
        return LatentHeads(
            spec=mla,
            num_heads=self._spec.num_attention_heads,
            q_a=self._linear(f"{prefix}.q_a_proj") if is_low else identity,
            q_a_norm=self._latent_norm(f"{prefix}.q_a_layernorm", mla) if is_low else identity,
            q_b=self._linear(f"{prefix}.q_b_proj" if is_low else f"{prefix}.q_proj"),
            kv_a=self._linear(f"{prefix}.kv_a_proj_with_mqa"),
            kv_a_norm=self._latent_norm(f"{prefix}.kv_a_layernorm", mla),
            kv_b=self._linear(f"{prefix}.kv_b_proj"),
        )

    def _latent_norm(self, name: str, mla: MlaSpec) -> Norm:
        return Norm(self._vector(name), None, mla.norm_eps)

    def _mlp(self, prefix: str) -> Mlp:
        return Mlp(*self._mlp_linears(prefix), self._spec.hidden_act)

    def _mlp_linears(self, prefix: str) -> tuple[Linear | None, Linear, Linear]:
        is_gated = self._spec.mlp_type is MlpType.GATED
        gate_proj = self._linear(f"{prefix}.gate_proj") if is_gated else None
        return gate_proj, self._linear(f"{prefix}.up_proj"), self._linear(f"{prefix}.down_proj")

    def _moe(self, prefix: str) -> MixtureOfExperts:
        moe, act = self._spec.moe, self._spec.hidden_act
        assert moe is not None
        has_shared, has_gate = moe.shared_intermediate_size > 0, moe.shared_expert_gate
        stems = (f"{prefix}.experts.{expert}" for expert in range(moe.num_experts))
        return MixtureOfExperts(
            spec=moe,
            router=self._linear(f"{prefix}.router"),
            correction=self._vector(f"{prefix}.router_correction")
            if moe.score_correction_bias
            else None,
            experts=[create_expert(moe, *self._mlp_linears(stem), act) for stem in stems],
            shared_expert=self._mlp(f"{prefix}.shared_expert") if has_shared else None,
            shared_expert_gate=self._linear(f"{prefix}.shared_expert_gate") if has_gate else None,
        )

    def _norm(self, name: str) -> Norm:
        spec = self._spec
        bias = self._vector(f"{name}.bias") if spec.norm_bias else None
        weight = self._vector(name) + spec.norm_offset
        return Norm(weight, bias, spec.rms_norm_eps, spec.norm_type)

    def _rms_norm(self, name: str) -> Norm:
        spec = self._spec
        return Norm(self._vector(name) + spec.norm_offset, None, spec.rms_norm_eps)

    def _linear(self, name: str) -> Linear:
        linear = self._checkpoint.linear(name)
        bias = None if linear.bias is None else self._copy(linear.bias)
        return Linear(self._count(torch.from_numpy(dequantize(linear))), bias)

    def _vector(self, name: str) -> Tensor:
        return self._copy(self._checkpoint.vector(name))

    def _copy(self, array: npt.NDArray[Any]) -> Tensor:
        return self._count(torch.from_numpy(np.array(array, dtype=np.float32)))

    def _count(self, tensor: Tensor) -> Tensor:
        self._num_bytes += tensor.nbytes
        return tensor
