"""DeepSeek-V2 and V3, Kimi-K2, GLM-4.7-Flash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from tests.family_models import Config, FamilyCase, GgufLayout, Tensors, stack_experts

LATENT: dict[str, Any] = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "q_lora_rank": 24,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 12,
    "moe_intermediate_size": 32,
    "n_routed_experts": 8,
    "n_shared_experts": 2,
    "num_experts_per_tok": 3,
    "n_group": 4,
    "topk_group": 2,
    "first_k_dense_replace": 1,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000.0,
    "factor": 8.0,
    "mscale": 1.0,
    "mscale_all_dim": 0.707,
    "original_max_position_embeddings": 32,
}


def _latent(config: Config) -> dict[str, Any]:
    """What llama.cpp's converter has written since April 2025."""
    heads, rope = _heads(config), config["rope_parameters"]
    lora, rotary = config["kv_lora_rank"], config["qk_rope_head_dim"]
    mscale = rope.get("mscale_all_dim")
    return {
        "attention.head_count_kv": 1,
        "attention.key_length": lora + rotary,
        "attention.value_length": lora,
        "attention.key_length_mla": heads[0],
        "attention.value_length_mla": heads[1],
        "attention.kv_lora_rank": lora,
        "attention.q_lora_rank": config["q_lora_rank"],
        "rope.dimension_count": rotary,
        **(_YARN_KEYS if mscale else {}),
        "rope.scaling.yarn_log_multiplier": mscale and 0.1 * mscale,
        "leading_dense_block_count": config["first_k_dense_replace"],
        "expert_count": config["n_routed_experts"],
        "expert_used_count": config["num_experts_per_tok"],
        "expert_shared_count": config["n_shared_experts"],
        "expert_feed_forward_length": config["moe_intermediate_size"],
        "expert_weights_scale": config["routed_scaling_factor"],
        "expert_weights_norm": config["norm_topk_prob"] or None,
        "expert_group_count": config["n_group"],
        "expert_group_used_count": config["topk_group"],
    }


def _heads(config: Config) -> tuple[int, int]:
    """Columns of a head of keys, and of values."""
    return config["qk_nope_head_dim"] + config["qk_rope_head_dim"], config["v_head_dim"]


def _sigmoid(config: Config) -> dict[str, Any]:
    return _latent(config) | {"expert_gating_func": 2}


def _early(config: Config) -> dict[str, Any]:
    """As DeepSeek-V2's first files: heads as wide as they are, and no word of groups."""
    key, value = _heads(config)
    dropped = ("key_length_mla", "value_length_mla", "head_count_kv")
    return _latent(config) | {
        **{f"attention.{name}": None for name in dropped},
        "attention.head_count_kv": config["num_attention_heads"],
        "attention.key_length": key,
        "attention.value_length": value,
        "expert_group_count": None,
        "expert_group_used_count": None,
    }


def _stack(config: Config, tensors: Tensors) -> Tensors:
    parts = {name: f"mlp.experts.{name}" for name in ("gate_proj", "up_proj", "down_proj")}
    stacked = stack_experts(tensors, "mlp.experts", parts)
    # As llama.cpp's converter spells it, so that gguf knows it as a bias.
    return {
        name.replace("e_score_correction_bias", "e_score_correction.bias"): values
        for name, values in stacked.items()
    }


def _split(config: Config, tensors: Tensors) -> Tensors:
    """Of kv_b_proj, the keys of each head are transposed, its values are not."""
    found = _stack(config, tensors)
    still, lora = config["qk_nope_head_dim"], config["kv_lora_rank"]
    for name in [name for name in found if ".kv_b_proj." in name]:
        heads = found.pop(name).reshape(config["num_attention_heads"], -1, lora)
        keys, values = heads[:, :still].swapaxes(1, 2), heads[:, still:]
        found[name.replace("kv_b_proj", "k_b_proj")] = np.ascontiguousarray(keys)
        found[name.replace("kv_b_proj", "v_b_proj")] = np.ascontiguousarray(values)
    return found


def _flash(config: Config) -> dict[str, Any]:
    """With the layer that predicts a further token; the first files do not say the sigmoid."""
    return _latent(config) | {
        "block_count": config["num_hidden_layers"] + 1,
        "nextn_predict_layers": 1,
        "expert_group_count": None,
        "expert_group_used_count": None,
    }


def _split_flash(config: Config, tensors: Tensors) -> Tensors:
    last = f"model.layers.{config['num_hidden_layers']}."
    return _split(config, {name: t for name, t in tensors.items() if not name.startswith(last)})


def _draft_layer(config: Config) -> Tensors:
    hidden, prefix = config["hidden_size"], f"blk.{config['num_hidden_layers']}"
    ones = np.ones(hidden, np.float32)
    return {f"{prefix}.attn_norm.weight": ones, f"{prefix}.nextn.enorm.weight": ones}


def _add_draft_layer(folder: Path) -> None:
    """As GLM publishes it, behind the last layer."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    last = f"model.layers.{config['num_hidden_layers']}"
    tensors = load_file(folder / "model.safetensors")
    norm = np.ones(config["hidden_size"], np.float32)
    tensors |= {f"{last}.{name}.weight": norm for name in ("enorm", "input_layernorm")}
    save_file(tensors, folder / "model.safetensors")
    config["num_nextn_predict_layers"] = 1
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


_YARN_KEYS = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": YARN["factor"],
    "rope.scaling.original_context_length": YARN["original_max_position_embeddings"],
}
_V2_GGUF = GgufLayout("deepseek2", _latent, transform=_split)
_V3_GGUF = GgufLayout("deepseek2", _sigmoid, transform=_split)
_EARLY_GGUF = GgufLayout("deepseek2", _early, transform=_stack)
_FLASH_GGUF = GgufLayout("deepseek2", _flash, transform=_split_flash, extra=_draft_layer)

_UNGROUPED = {"n_group": 1, "topk_group": 1}
_SHARP = {**YARN, "mscale": 0.707}  # as all published models, both alike

CASES = [
    FamilyCase("deepseek v3", "deepseek_v3", {**LATENT, "routed_scaling_factor": 2.5}, _V3_GGUF),
    FamilyCase(
        "deepseek v3 yarn",
        "deepseek_v3",
        {**LATENT, "q_lora_rank": None, "rope_parameters": YARN, "attention_bias": True},
    ),
    FamilyCase(
        "kimi k2",
        "deepseek_v3",
        {**LATENT, **_UNGROUPED, "rope_parameters": _SHARP},
        _V3_GGUF,
    ),
    FamilyCase(
        "deepseek v2",
        "deepseek_v2",
        {**LATENT, "topk_method": "group_limited_greedy", "routed_scaling_factor": 4.0},
        _V2_GGUF,
    ),
    FamilyCase(
        "deepseek v2 lite",
        "deepseek_v2",
        {**LATENT, "q_lora_rank": None, "rope_parameters": _SHARP, "topk_method": "greedy"},
        _EARLY_GGUF,
    ),
    FamilyCase(
        "glm 4.7 flash",
        "glm4_moe_lite",
        {**LATENT, "num_attention_heads": 5, "num_key_value_heads": 5, **_UNGROUPED},
        _FLASH_GGUF,
        publish=_add_draft_layer,
    ),
]
