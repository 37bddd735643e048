"""GGUF architectures with gated delta nets between layers of attention: Qwen3-Next, Qwen3.5.

Facts: ggml-org/llama.cpp:conversion/qwen.py writes the files, in the words of Mamba:
`ssm.state_size` is the width of a key head, `ssm.group_count` the number of those,
`ssm.time_step_rank` that of the value heads, `ssm.inner_size` what these take together. `ssm_a` is
-exp(A_log).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from app.core.sentence import Sentence
from app.spec.gguf_architecture import GgufArchitecture
from app.spec.gguf_metadata import GgufMetadata
from app.spec.gguf_moe import read_experts

_NAMES = {"post_attention_layernorm": "post_attention_norm"}
_NOTE = Sentence("Only the language model of Qwen3.5 is converted; it reads text.")


def _read_hybrid(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    """Blocks behind the last layer predict further tokens; the decoder ends before them."""
    num_value_heads, inner = (
        reader.integer(f"ssm.{name}") for name in ("time_step_rank", "inner_size")
    )
    if num_value_heads <= 0 or inner % num_value_heads:
        raise reader.refuse(
            "ssm.inner_size",
            Sentence(
                "{inner} is no multiple of {num_value_heads} heads",
                inner=inner,
                num_value_heads=num_value_heads,
            ),
        )
    num_draft_layers = reader.integer("nextn_predict_layers", 0)
    reader.value("rope.dimension_sections", None)  # the axes of a position, equal in text
    return {
        "num_hidden_layers": config["num_hidden_layers"] - num_draft_layers,
        "num_nextn_predict_layers": num_draft_layers,
        "full_attention_interval": reader.integer("full_attention_interval", 4),
        "linear_num_key_heads": reader.integer("ssm.group_count"),
        "linear_num_value_heads": num_value_heads,
        "linear_key_head_dim": reader.integer("ssm.state_size"),
        "linear_value_head_dim": inner // num_value_heads,
        "linear_conv_kernel_dim": reader.integer("ssm.conv_kernel"),
    }


def _read_with_experts(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    return {
        **_read_hybrid(reader, config, tensors),
        **read_experts(reader, norm_topk_prob=True),
        "moe_intermediate_size": reader.integer("expert_feed_forward_length"),
        "shared_expert_intermediate_size": reader.integer("expert_shared_feed_forward_length"),
    }


HYBRID_ARCHITECTURES = {
    "qwen3next": GgufArchitecture(
        "Qwen3NextForCausalLM",
        "qwen3_next",
        read_more=_read_with_experts,
        names=_NAMES,
        partial_rotary=True,
        has_experts=True,
    ),
    "qwen35": GgufArchitecture(
        "Qwen3_5ForCausalLM",
        "qwen3_5_text",
        read_more=_read_hybrid,
        names=_NAMES,
        partial_rotary=True,
        has_tiled_values=True,
        note=_NOTE,
    ),
    "qwen35moe": GgufArchitecture(
        "Qwen3_5MoeForCausalLM",
        "qwen3_5_moe_text",
        read_more=_read_with_experts,
        names=_NAMES,
        partial_rotary=True,
        has_experts=True,
        has_tiled_values=True,
        has_dense_mlp=False,
        note=_NOTE,
    ),
}
