"""ERNIE 4.5 (dense): Llama that rotates neighbouring pairs."""

from app.spec.adapter import ArchitectureAdapter
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import AttentionBias
from app.spec.weight_names import WeightNames


def _use_bias(config: ConfigReader) -> bool:
    return config.flag("use_bias", False)


def _attention_bias(config: ConfigReader) -> AttentionBias:
    has_bias = _use_bias(config)
    return AttentionBias(q=has_bias, k=has_bias, v=has_bias, o=has_bias)


ADAPTER = ArchitectureAdapter(
    family="ernie4_5",
    architectures=("Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM"),
    model_types=("ernie4_5",),
    read_attention_bias=_attention_bias,
    read_mlp_bias=_use_bias,
    weight_names=WeightNames(interleaved_rope=True),
    default_rms_norm_eps=1e-5,
    default_head_dim=128,
    default_tie_word_embeddings=True,
)
