"""Gemma 3, text: Gemma 2 with query and key norms for caps, and a rope of their own for windows."""

from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter, Window, attention_bias_flag, periodic_window
from app.spec.adapters.gemma2 import SANDWICH_NAMES, read_sandwich
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import QKNorm


def _read_differences(config: ConfigReader) -> dict[str, Any]:
    return read_sandwich(config) | {
        "qk_norm": QKNorm.HEAD,
        "attn_logit_softcapping": config.number("attn_logit_softcapping", None),
        "final_logit_softcapping": config.number("final_logit_softcapping", None),
    }


def _read_window(config: ConfigReader, num_layers: int) -> Window:
    period = config.integer("sliding_window_pattern", 6)
    if period < 1:
        raise UnsupportedError(
            "sliding_window_pattern must be positive, not {period}.", period=period
        )
    return periodic_window(config, num_layers, period)


ADAPTER = ArchitectureAdapter(
    family="gemma3",
    architectures=("Gemma3ForCausalLM",),
    model_types=("gemma3_text",),
    read_attention_bias=attention_bias_flag,
    read_window=_read_window,
    read_differences=_read_differences,
    weight_names=SANDWICH_NAMES,
    sliding_rope=True,
    default_rope_theta=1_000_000.0,
    default_sliding_rope_theta=10_000.0,
    default_rms_norm_eps=1e-6,
    default_head_dim=256,
    default_tie_word_embeddings=True,
    ignored_keys=("cache_implementation",),  # transformers' own, changes no result
)
