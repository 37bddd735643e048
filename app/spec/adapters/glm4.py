"""GLM-4-0414: GLM-4 with a norm on the output of attention and MLP, too."""

from app.spec.adapter import ArchitectureAdapter
from app.spec.adapters.glm import GLM_NAMES, qkv_bias
from app.spec.model_spec import NormPlacement

ADAPTER = ArchitectureAdapter(
    family="glm4",
    architectures=("Glm4ForCausalLM",),
    model_types=("glm4",),
    read_attention_bias=qkv_bias,
    read_differences=lambda config: {"norm_placement": NormPlacement.SANDWICH},
    weight_names=GLM_NAMES,
    partial_rotary=True,
    default_partial_rotary_factor=0.5,
    default_rms_norm_eps=1.5625e-07,
    default_head_dim=128,
)
