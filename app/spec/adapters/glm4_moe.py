"""GLM-4.5 and 4.6: partial rotary, experts chosen by sigmoid, one that every token shares."""

from collections.abc import Mapping
from typing import Any

from app.spec.adapter import ArchitectureAdapter
from app.spec.adapters.deepseek_v3 import read_sigmoid_experts
from app.spec.config_reader import ConfigReader
from app.spec.latent_config import DEEPSEEK_NAMES, first_dense_layers
from app.spec.model_spec import AttentionBias, QKNorm
from app.spec.moe_config import MOE_IGNORED_KEYS
from app.spec.weight_names import WeightNames


def _read_attention_bias(config: ConfigReader) -> AttentionBias:
    has_bias = config.flag("attention_bias", False)
    return AttentionBias(q=has_bias, k=has_bias, v=has_bias)


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    moe = read_sigmoid_experts(config, first_dense_layers(config, 1), num_groups=1, topk_groups=1)
    has_norms = config.flag("use_qk_norm", False)
    return {"moe": moe, "qk_norm": QKNorm.HEAD if has_norms else QKNorm.NONE}


ADAPTER = ArchitectureAdapter(
    family="glm4_moe",
    architectures=("Glm4MoeForCausalLM",),
    model_types=("glm4_moe",),
    read_attention_bias=_read_attention_bias,
    read_differences=_read_differences,
    weight_names=WeightNames(renamed=DEEPSEEK_NAMES.renamed, fused=DEEPSEEK_NAMES.fused),
    partial_rotary=True,
    default_partial_rotary_factor=0.5,
    default_rms_norm_eps=1e-5,
    # What predicts further tokens at once is no part of the decoder.
    ignored_keys=(*MOE_IGNORED_KEYS, "num_nextn_predict_layers", "num_mtp_layers"),
)
