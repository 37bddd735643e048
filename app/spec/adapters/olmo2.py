"""OLMo 2: norms on the output of attention and MLP only, and over whole queries and keys."""

from collections.abc import Mapping
from typing import Any

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import NormPlacement, QKNorm
from app.spec.weight_names import WeightNames

POST_NORM_NAMES = WeightNames(
    renamed={
        "post_self_attn_layernorm": "post_attention_layernorm",
        "post_mlp_layernorm": "post_feedforward_layernorm",
    }
)


def read_olmo(config: ConfigReader) -> Mapping[str, Any]:
    """What OLMo 2 and 3 share."""
    return {"norm_placement": NormPlacement.POST, "qk_norm": QKNorm.PROJECTION}


ADAPTER = ArchitectureAdapter(
    family="olmo2",
    architectures=("Olmo2ForCausalLM",),
    model_types=("olmo2",),
    read_attention_bias=attention_bias_flag,
    read_differences=read_olmo,
    weight_names=POST_NORM_NAMES,
    default_rms_norm_eps=1e-5,
)
