"""What configurations with multi-head latent attention have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.config_reader import ConfigReader
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import AttentionBias
from app.spec.rope import RopeSpec, RopeType
from app.spec.rope_config import RopeFacts, read_rope
from app.spec.weight_names import WeightNames

# Pairs of rotary columns are neighbours; experts may be stacked as transformers 5 holds them.
DEEPSEEK_NAMES = WeightNames(
    renamed={
        "mlp.router": "mlp.gate",
        "mlp.router_correction": "mlp.gate.e_score_correction_bias",
        **{
            f"mlp.shared_expert.{name}_proj": f"mlp.shared_experts.{name}_proj"
            for name in ("gate", "up", "down")
        },
    },
    fused={"mlp.experts.*.gate_up_proj": ("mlp.experts.*.gate_proj", "mlp.experts.*.up_proj")},
    interleaved_rope=True,
)
# Of training and of other programs; what predicts further tokens at once is no part of the decoder.
DEEPSEEK_IGNORED_KEYS = (
    "aux_loss_alpha",
    "ep_size",
    "head_dim",
    "num_mtp_layers",
    "num_nextn_predict_layers",
    "output_router_logits",
    "qk_head_dim",
    "router_aux_loss_coef",
    "seq_aux",
)


def read_latent(config: ConfigReader) -> Mapping[str, Any]:
    """The fields of ModelSpec that latent attention changes, by name."""
    mla = MlaSpec(
        kv_lora_rank=config.integer("kv_lora_rank"),
        qk_nope_head_dim=config.integer("qk_nope_head_dim"),
        qk_rope_head_dim=config.integer("qk_rope_head_dim"),
        v_head_dim=config.integer("v_head_dim"),
        q_lora_rank=config.integer("q_lora_rank", None),
    )
    rope = read_rope(config, RopeFacts(head_dim=mla.qk_rope_head_dim, default_theta=None))
    return {
        "mla": mla,
        "rope": rope,
        "head_dim": mla.qk_head_dim,
        "num_key_value_heads": config.integer("num_attention_heads"),
        "attention_multiplier": mla.qk_head_dim**-0.5 * _stretch(rope) ** 2,
    }


def latent_bias(config: ConfigReader) -> AttentionBias:
    """`attention_bias` is of the projections from and to the hidden state, but not of plain q."""
    has_bias = config.flag("attention_bias", False)
    is_low = config.integer("q_lora_rank", None) is not None
    return AttentionBias(q=has_bias and is_low, k=has_bias, o=has_bias)


def first_dense_layers(config: ConfigReader, default: int = 0) -> tuple[bool, ...]:
    """All layers are sparse but the first `first_k_dense_replace`, `default` where it is absent."""
    num_dense = config.integer("first_k_dense_replace", default)
    return tuple(index >= num_dense for index in range(config.integer("num_hidden_layers")))


def shared_size(config: ConfigReader) -> int:
    """`n_shared_experts` side by side are one expert of that many times the size."""
    return int(config.integer("n_shared_experts", 0) * config.integer("moe_intermediate_size"))


def read_num_routed(config: ConfigReader) -> int:
    """`n_routed_experts`, which transformers 5 also calls num_local_experts."""
    routed = config.integer("n_routed_experts")
    if config.integer("num_local_experts", routed) != routed:
        raise UnsupportedError("n_routed_experts and num_local_experts differ.")
    return int(routed)


def _stretch(rope: RopeSpec) -> float:
    """yarn's `mscale_all_dim` sharpens the scores, too (modeling_deepseek_v3.py)."""
    if rope.rope_type is not RopeType.YARN or not rope.mscale_all_dim or rope.factor <= 1:
        return 1.0
    return 0.1 * rope.mscale_all_dim * math.log(rope.factor) + 1.0
