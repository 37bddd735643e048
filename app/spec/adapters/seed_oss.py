"""Seed-OSS: Llama with biases on q, k and v, and a flag of its own for o."""

from app.spec.adapter import ArchitectureAdapter
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import AttentionBias


def _attention_bias(config: ConfigReader) -> AttentionBias:
    qkv = config.flag("attention_bias", True)
    return AttentionBias(q=qkv, k=qkv, v=qkv, o=config.flag("attention_out_bias", False))


ADAPTER = ArchitectureAdapter(
    family="seed_oss",
    architectures=("SeedOssForCausalLM",),
    model_types=("seed_oss",),
    read_attention_bias=_attention_bias,
    read_mlp_bias=lambda config: config.flag("mlp_bias", False),
    default_rms_norm_eps=1e-6,
    default_head_dim=128,
    ignored_keys=("residual_dropout",),
)
