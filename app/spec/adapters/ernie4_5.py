"""ERNIE 4.5 (dense): Llama that rotates neighbouring pairs."""

from functools import partial

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag
from app.spec.weight_names import WeightNames

ADAPTER = ArchitectureAdapter(
    family="ernie4_5",
    architectures=("Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM"),
    model_types=("ernie4_5",),
    read_attention_bias=partial(attention_bias_flag, name="use_bias"),
    read_mlp_bias=lambda config: config.flag("use_bias", False),
    weight_names=WeightNames(interleaved_rope=True),
    default_rms_norm_eps=1e-5,
    default_head_dim=128,
    default_tie_word_embeddings=True,
)
