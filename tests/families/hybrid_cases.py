"""Qwen3-Next and Qwen3.5: gated delta nets between layers of gated attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.families.moe_cases import stack_qwen
from tests.family_models import Config, FamilyCase, GgufLayout, Tensors
from tests.gguf_factory import Floats

DELTA_NET: dict[str, Any] = {
    "layer_types": ["linear_attention", "full_attention", "linear_attention"],
    "head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 6,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 16,
}
EXPERTS = {
    "num_experts": 8,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 64,
}


def center_norms(model: Any) -> None:
    """Norms of 1 + w scatter around 1 as others do.

    Around 2 they double every layer's input, and transformers' own two forms of the delta rule, by
    chunks and by tokens, then differ by up to 4e-4 in these models' logits.
    """
    for name, weight in model.state_dict().items():
        if name.endswith("norm.weight") and "linear_attn" not in name:
            weight -= 1


def _metadata(config: Config) -> dict[str, Any]:
    value_heads = config["linear_num_value_heads"]
    return {
        "rope.dimension_count": config["head_dim"] // 4,
        "full_attention_interval": 2,
        "ssm.conv_kernel": config["linear_conv_kernel_dim"],
        "ssm.state_size": config["linear_key_head_dim"],
        "ssm.group_count": config["linear_num_key_heads"],
        "ssm.time_step_rank": value_heads,
        "ssm.inner_size": value_heads * config["linear_value_head_dim"],
    }


def _qwen3_next(config: Config) -> dict[str, Any]:
    return _metadata(config) | {
        "expert_count": config["num_experts"],
        "expert_used_count": config["num_experts_per_tok"],
        "expert_feed_forward_length": config["moe_intermediate_size"],
        "expert_shared_feed_forward_length": config["shared_expert_intermediate_size"],
    }


def _qwen3_5(config: Config) -> dict[str, Any]:
    """With the block that predicts a further token, as the converter writes it since 2026."""
    return _metadata(config) | {
        "rope.dimension_sections": [1, 1, 0, 0],
        "block_count": config["num_hidden_layers"] + 1,
        "nextn_predict_layers": 1,
    }


def _qwen3_5_moe(config: Config) -> dict[str, Any]:
    """Such a configuration has no intermediate_size."""
    sizes = {"rope.dimension_sections": [1, 1, 0, 0], "feed_forward_length": None}
    return _qwen3_next(config) | sizes


def _draft_layer(config: Config) -> Tensors:
    hidden, last = config["hidden_size"], config["num_hidden_layers"]
    return {
        f"blk.{last}.nextn.eh_proj.weight": np.ones((hidden, 2 * hidden), np.float32),
        f"blk.{last}.attn_norm.weight": np.ones(hidden, np.float32),
    }


def _transform(config: Config, tensors: Tensors) -> Tensors:
    """What llama.cpp's converter does to both (conversion/qwen.py, Qwen3NextModel)."""
    found: Tensors = {}
    for name, values in stack_qwen(config, tensors).items():
        if name.endswith(".A_log"):
            found[name] = -np.exp(values)
        elif name.endswith(".dt_bias"):
            found[name.replace("dt_bias", "dt_proj.bias")] = values
        elif name.endswith("conv1d.weight"):
            found[name] = values[:, 0]
        elif name.endswith("norm.weight") and "linear_attn" not in name:
            found[name] = values + np.float32(1)
        else:
            found[name] = values
    return found


def _regroup(config: Config, tensors: Tensors) -> Tensors:
    """Qwen3-Next's stack by key head becomes queries, keys, values; and gates."""
    stem = ".linear_attn.in_proj_"
    found = _transform(config, tensors)
    for name in [name for name in found if name.endswith(f"{stem}qkvz.weight")]:
        by_head = found.pop(name).reshape(config["linear_num_key_heads"], -1, config["hidden_size"])
        key = config["linear_key_head_dim"]
        values = (by_head.shape[1] - 2 * key) // 2
        ends = np.cumsum([key, key, values])
        parts = [part.reshape(-1, part.shape[2]) for part in np.split(by_head, ends, axis=1)]
        found[name.replace("qkvz", "qkv")] = np.concatenate(parts[:3])
        found[name.replace("qkvz", "z")] = parts[3]
    return found


def _tile(config: Config, tensors: Tensors) -> Tensors:
    """Qwen3.5's value heads in turns (_reorder_v_heads)."""
    width = config["linear_value_head_dim"]
    key_rows = 2 * config["linear_num_key_heads"] * config["linear_key_head_dim"]

    def tiled(values: Floats, width: int) -> Floats:
        heads = values.reshape(config["linear_num_key_heads"], -1, width, *values.shape[1:])
        return heads.swapaxes(0, 1).reshape(values.shape)

    found = _transform(config, tensors)
    for name, values in found.items():
        short = name.split(".linear_attn.")[-1].removesuffix(".weight").removesuffix(".bias")
        if short in ("in_proj_a", "in_proj_b", "A_log", "dt_proj"):
            found[name] = tiled(values, 1)
        if short == "in_proj_z":
            found[name] = tiled(values, width)
        if short in ("in_proj_qkv", "conv1d"):
            found[name] = np.concatenate((values[:key_rows], tiled(values[key_rows:], width)))
        if short == "out_proj":
            found[name] = np.ascontiguousarray(tiled(values.T, width).T)
    return found


NEXT_GGUF = GgufLayout("qwen3next", _qwen3_next, transform=_regroup)
# The first files kept the stack as the folder has it.
_FIRST_NEXT_GGUF = GgufLayout("qwen3next", _qwen3_next, transform=_transform)
QWEN35_GGUF = GgufLayout("qwen35", _qwen3_5, transform=_tile, extra=_draft_layer)
QWEN35_MOE_GGUF = GgufLayout("qwen35moe", _qwen3_5_moe, transform=_tile)


def _case(
    name: str, model_type: str, changes: dict[str, Any], gguf: GgufLayout | None = None
) -> FamilyCase:
    return FamilyCase(name, model_type, changes, gguf, center_norms)


FIRST_FILES = _case("first files", "qwen3_next", {**DELTA_NET, **EXPERTS}, _FIRST_NEXT_GGUF)
# No published model is so, but halves of one are.
LINEAR_ALONE = _case(
    "linear layers alone",
    "qwen3_5_text",
    {**DELTA_NET, "num_hidden_layers": 2, "layer_types": ["linear_attention"] * 2},
)

CASES = [
    _case("qwen3 next", "qwen3_next", {**DELTA_NET, **EXPERTS}, NEXT_GGUF),
    _case("qwen3.5", "qwen3_5_text", DELTA_NET, QWEN35_GGUF),
    _case("qwen3.5 moe", "qwen3_5_moe_text", {**DELTA_NET, **EXPERTS}, QWEN35_MOE_GGUF),
]
