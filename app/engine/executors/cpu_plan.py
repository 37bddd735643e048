"""From ModelSpec to the native library's numbers."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from app.core.errors import UnsupportedError
from app.engine.executors.honoured import check_fields
from app.engine.sampling import Sampler
from app.spec.delta_net_spec import DeltaNetSpec
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import ModelSpec, NormType, QKNorm
from app.spec.moe_spec import ExpertAct, GroupScoring, MoeSpec, RouterScoring
from app.spec.rope import RopeSpec
from kernels.cpu.native import pointer
from kernels.cpu.structures import Config, DeltaNet, Mla, Moe, Rope, Sampling

# The numbers of api.h.
_ACTIVATIONS = {"silu": 0, "gelu": 1, "gelu_pytorch_tanh": 2}
_KV_TYPES = {"fp32": 0, "fp16": 1, "int8": 2}
_SCORINGS = {RouterScoring.SOFTMAX: 0, RouterScoring.SOFTMAX_TOPK: 1, RouterScoring.SIGMOID: 2}
_GROUP_SCORINGS = {GroupScoring.MAX: 0, GroupScoring.TOP2_SUM: 1}
MAX_HEAD_DIM = 512


def check_runnable(spec: ModelSpec) -> None:
    """Raises UnsupportedError naming the field that the kernels cannot honour."""
    check_fields(spec, "cpu", _ACTIVATIONS)
    widest = max(spec.head_dim, spec.value_head_dim)
    if widest > MAX_HEAD_DIM:
        raise UnsupportedError(
            "The cpu executor runs head_dim up to {most}, not {widest}.",
            most=MAX_HEAD_DIM,
            widest=widest,
        )


class RopePlan:
    """The different rotary embeddings of a spec's layers, and the arrays their tables lie in."""

    def __init__(self, spec: ModelSpec, max_model_len: int) -> None:
        per_layer = [spec.layer_rope(index) for index in range(spec.num_hidden_layers)]
        self._ropes = list(dict.fromkeys(rope for rope in per_layer if rope is not None))
        self._inv_freqs = [rope.inverse_frequencies(max_model_len) for rope in self._ropes]
        tables = map(_rope_table, self._ropes, self._inv_freqs)
        self.tables = (Rope * len(self._ropes))(*tables)

    def index_of(self, rope: RopeSpec | None) -> int:
        """The number by which a layer names its rope; -1 for none."""
        return -1 if rope is None else self._ropes.index(rope)


def _rope_table(rope: RopeSpec, inv_freq: npt.NDArray[np.float32]) -> Rope:
    return Rope(2 * len(inv_freq), rope.cos_sin_factor, pointer(inv_freq))


def native_config(
    spec: ModelSpec,
    max_model_len: int,
    num_slots: int,
    num_pages: int,
    ropes: RopePlan,
    *,
    kv_dtype: str,
    int8_activations: bool,
) -> Config:
    """The `Config` of a spec; the caller keeps `ropes` alive until the model is made."""
    scaling = spec.query_scaling
    return Config(
        hidden_size=spec.hidden_size,
        intermediate_size=spec.intermediate_size,
        num_layers=spec.num_hidden_layers,
        num_heads=spec.num_attention_heads,
        num_kv_heads=spec.num_key_value_heads,
        head_dim=spec.head_dim,
        vocab_size=spec.vocab_size,
        max_model_len=max_model_len,
        num_slots=num_slots,
        num_pages=num_pages,
        kv_type=_KV_TYPES[kv_dtype],
        int8_activations=int8_activations,
        layer_norm=spec.norm_type is NormType.LAYER_NORM,
        qk_norm_projection=spec.qk_norm is QKNorm.PROJECTION,
        hidden_act=_ACTIVATIONS[spec.hidden_act],
        rms_norm_eps=spec.rms_norm_eps,
        attention_multiplier=spec.attention_multiplier,
        attn_logit_softcapping=spec.attn_logit_softcapping or 0.0,
        query_scaling_beta=scaling.beta if scaling else 0.0,
        query_scaling_length=scaling.original_max_position_embeddings if scaling else 0,
        embedding_multiplier=spec.embedding_multiplier,
        residual_multiplier=spec.residual_multiplier,
        logits_multiplier=spec.logits_multiplier,
        final_logit_softcapping=spec.final_logit_softcapping or 0.0,
        num_ropes=len(ropes.tables),
        ropes=ctypes.addressof(ropes.tables),
        moe=Moe() if spec.moe is None else _native_moe(spec.moe),
        mla=Mla() if spec.mla is None else _native_mla(spec.mla),
        delta_net=DeltaNet() if spec.delta_net is None else _native_delta_net(spec.delta_net),
    )


def _native_mla(mla: MlaSpec) -> Mla:
    return Mla(
        kv_lora_rank=mla.kv_lora_rank,
        q_lora_rank=mla.q_lora_rank or 0,
        qk_nope_head_dim=mla.qk_nope_head_dim,
        qk_rope_head_dim=mla.qk_rope_head_dim,
        v_head_dim=mla.v_head_dim,
        norm_eps=mla.norm_eps,
    )


def _native_delta_net(spec: DeltaNetSpec) -> DeltaNet:
    return DeltaNet(
        num_key_heads=spec.linear_num_key_heads,
        num_value_heads=spec.linear_num_value_heads,
        key_head_dim=spec.linear_key_head_dim,
        value_head_dim=spec.linear_value_head_dim,
        conv_kernel=spec.linear_conv_kernel_dim,
    )


def _native_moe(moe: MoeSpec) -> Moe:
    return Moe(
        num_experts=moe.num_experts,
        num_experts_per_tok=moe.num_experts_per_tok,
        intermediate_size=moe.moe_intermediate_size,
        shared_intermediate_size=moe.shared_intermediate_size,
        scoring=_SCORINGS[moe.scoring],
        norm_topk_prob=moe.norm_topk_prob,
        routed_scaling_factor=moe.routed_scaling_factor,
        num_groups=moe.num_groups,
        topk_groups=moe.topk_groups,
        group_scoring=_GROUP_SCORINGS[moe.group_scoring],
        clamped_swiglu=moe.expert_act is ExpertAct.CLAMPED_SWIGLU,
        swiglu_limit=moe.swiglu_limit,
        swiglu_alpha=moe.swiglu_alpha,
    )


def native_sampling(sampler: Sampler) -> Sampling:
    """The `Sampling` of a sampler's next token; it points into the sampler."""
    params = sampler.params
    return Sampling(
        temperature=params.temperature,
        top_p=params.top_p,
        min_p=params.min_p,
        presence_penalty=params.presence_penalty,
        frequency_penalty=params.frequency_penalty,
        repetition_penalty=params.repetition_penalty,
        top_k=params.top_k,
        seed=sampler.seed,
        step=sampler.num_sampled,
        is_seen=pointer(sampler.is_seen),
        num_output=pointer(sampler.num_output),
    )
