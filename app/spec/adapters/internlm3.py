"""InternLM3: Llama whose o projection goes with the MLP in matters of bias.

The published repositories bring their own code (modeling_internlm3.py); transformers reads them as
Llama.
"""

from app.spec.adapter import ArchitectureAdapter
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import AttentionBias


def _attention_bias(config: ConfigReader) -> AttentionBias:
    qkv = config.flag("qkv_bias", config.flag("attention_bias", False))
    return AttentionBias(q=qkv, k=qkv, v=qkv, o=_bias(config))


def _bias(config: ConfigReader) -> bool:
    """transformers calls it `mlp_bias`, the published configurations `bias`."""
    return config.flag("bias", config.flag("mlp_bias", False))


ADAPTER = ArchitectureAdapter(
    family="internlm3",
    architectures=("InternLM3ForCausalLM",),
    model_types=("internlm3",),
    read_attention_bias=_attention_bias,
    read_mlp_bias=_bias,
    default_rms_norm_eps=1e-5,
    default_head_dim=128,
)
