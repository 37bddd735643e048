"""Gemma 2: norms before and after both blocks, capped scores and logits, half the layers slide."""

from typing import Any

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag, periodic_window
from app.spec.adapters.gemma import read_gemma
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import NormPlacement
from app.spec.weight_names import WeightNames

SANDWICH_NAMES = WeightNames(
    renamed={
        "post_self_attn_layernorm": "post_attention_layernorm",
        "post_attention_layernorm": "pre_feedforward_layernorm",
        "post_mlp_layernorm": "post_feedforward_layernorm",
    }
)


def read_sandwich(config: ConfigReader) -> dict[str, Any]:
    """What Gemma 2 and 3 share."""
    return read_gemma(config) | {
        "norm_placement": NormPlacement.SANDWICH,
        "attention_multiplier": config.number("query_pre_attn_scalar", 256.0) ** -0.5,
    }


def _read_differences(config: ConfigReader) -> dict[str, Any]:
    return read_sandwich(config) | {
        "attn_logit_softcapping": config.optional_number("attn_logit_softcapping", 50.0),
        "final_logit_softcapping": config.optional_number("final_logit_softcapping", 30.0),
    }


ADAPTER = ArchitectureAdapter(
    family="gemma2",
    architectures=("Gemma2ForCausalLM",),
    model_types=("gemma2",),
    read_attention_bias=attention_bias_flag,
    read_window=lambda config, num_layers: periodic_window(config, num_layers, 2),
    read_differences=_read_differences,
    weight_names=SANDWICH_NAMES,
    default_rope_theta=10_000.0,
    default_rms_norm_eps=1e-6,
    default_head_dim=256,
    default_tie_word_embeddings=True,
    # transformers computes nothing with them; Gemma 2's own repositories say both.
    ignored_keys=("cache_implementation", "sliding_window_size"),
)
