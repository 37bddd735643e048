"""Llama 1 to 3.x, SmolLM2 and everything else published as LlamaForCausalLM."""

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag

ADAPTER = ArchitectureAdapter(
    family="llama",
    architectures=("LlamaForCausalLM",),
    model_types=("llama",),
    read_attention_bias=attention_bias_flag,
    read_mlp_bias=lambda config: config.flag("mlp_bias", False),
    default_rope_theta=10_000.0,  # Llama 1 and 2 never wrote it
    default_rms_norm_eps=1e-6,
    fixed_values={"activation": "swiglu"},  # Falcon3's word for what Llama does
    ignored_keys=(
        "is_llama_config",
        "transformers.js_config",
    ),  # SmolLM2 says both; neither changes the network
)
