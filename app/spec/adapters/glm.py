"""GLM-4-9B of 2024 in transformers' own form: half of each head rotates, in neighbouring pairs."""

from app.spec.adapter import ArchitectureAdapter
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import AttentionBias
from app.spec.weight_names import WeightNames

GLM_NAMES = WeightNames(
    fused={"mlp.gate_up_proj": ("mlp.gate_proj", "mlp.up_proj")}, interleaved_rope=True
)


def qkv_bias(config: ConfigReader) -> AttentionBias:
    """`attention_bias`, on unless it is said, is not meant for o."""
    has_bias = config.flag("attention_bias", True)
    return AttentionBias(q=has_bias, k=has_bias, v=has_bias)


ADAPTER = ArchitectureAdapter(
    family="glm",
    architectures=("GlmForCausalLM",),
    model_types=("glm",),
    read_attention_bias=qkv_bias,
    weight_names=GLM_NAMES,
    partial_rotary=True,
    default_partial_rotary_factor=0.5,
    default_rms_norm_eps=1.5625e-07,
    default_head_dim=128,
)
