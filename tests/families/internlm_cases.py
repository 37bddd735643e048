"""InternLM2 and 3, which transformers computes as Llama: folders as their authors publish them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from tests.family_models import Config, FamilyCase, GgufLayout, Tensors

_RENAMED = {
    "model.embed_tokens": "model.tok_embeddings",
    "lm_head": "output",
    "self_attn.o_proj": "attention.wo",
    "mlp.gate_proj": "feed_forward.w1",
    "mlp.up_proj": "feed_forward.w3",
    "mlp.down_proj": "feed_forward.w2",
    "input_layernorm": "attention_norm",
    "post_attention_layernorm": "ffn_norm",
}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1000.0, "factor": 6.0}


def _rewrite_config(folder: Path, drop: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    path = folder / "config.json"
    config = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    kept = {key: value for key, value in config.items() if key not in drop}
    path.write_text(json.dumps(kept), encoding="utf-8")
    return config


def publish_internlm3(folder: Path) -> None:
    """Its own class, and its own words for the biases."""
    bias = json.loads((folder / "config.json").read_text(encoding="utf-8"))["mlp_bias"]
    _rewrite_config(
        folder,
        ("attention_bias", "mlp_bias"),
        architectures=["InternLM3ForCausalLM"],
        model_type="internlm3",
        qkv_bias=bias,
        bias=bias,
    )


def publish_internlm2(folder: Path) -> None:
    """Its own class and names; q, k and v in one matrix, key/value head by key/value head."""
    config = _rewrite_config(
        folder,
        ("attention_bias", "mlp_bias"),
        architectures=["InternLM2ForCausalLM"],
        model_type="internlm2",
        attn_implementation="eager",
        bias=False,
    )
    path = folder / "model.safetensors"
    stored = load_file(path)
    tensors = {
        _renamed(name): values for name, values in stored.items() if ".self_attn." not in name
    }
    for index in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{index}"
        q, k, v, o = (stored[f"{prefix}.self_attn.{name}_proj.weight"] for name in "qkvo")
        tensors[f"{prefix}.attention.wqkv.weight"] = _group(config, q, k, v)
        tensors[f"{prefix}.attention.wo.weight"] = o
    save_file(tensors, path)


def _group(config: Config, q: Any, k: Any, v: Any) -> Any:
    num_groups, hidden = config["num_key_value_heads"], config["hidden_size"]
    by_group = [part.reshape(num_groups, -1, config["head_dim"], hidden) for part in (q, k, v)]
    return np.concatenate(by_group, axis=1).reshape(-1, hidden)


def _renamed(name: str) -> str:
    for llama, ours in _RENAMED.items():
        name = name.replace(llama, ours)
    return name


def _ungroup(config: Config, tensors: Tensors) -> Tensors:
    """As llama.cpp's converter: three matrices again."""
    queries = config["num_attention_heads"] // config["num_key_value_heads"]
    hidden, found = config["hidden_size"], {}
    for name, values in tensors.items():
        if "wqkv" not in name:
            found[name] = values
            continue
        groups = values.reshape(config["num_key_value_heads"], queries + 2, -1, hidden)
        parts = {"q": groups[:, :queries], "k": groups[:, -2], "v": groups[:, -1]}
        for part, rows in parts.items():
            ours = name.replace("attention.wqkv", f"self_attn.{part}_proj")
            found[ours] = rows.reshape(-1, hidden)
    return found


CASES = [
    FamilyCase(
        "internlm2",
        "llama",
        {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8},
        GgufLayout("internlm2", permuted=True, transform=_ungroup),
        publish=publish_internlm2,
    ),
    FamilyCase(
        "internlm2 dynamic",
        "llama",
        {"max_position_embeddings": 32, "rope_parameters": DYNAMIC},
        publish=publish_internlm2,
    ),
    FamilyCase(
        "internlm3",
        "internlm3",
        {"head_dim": 16},
        GgufLayout("llama", permuted=True),
        publish=publish_internlm3,
    ),
    FamilyCase(
        "internlm3 biases and dynamic",
        "internlm3",
        {
            "head_dim": 16,
            "attention_bias": True,
            "mlp_bias": True,
            "max_position_embeddings": 32,
            "rope_parameters": DYNAMIC,
        },
        publish=publish_internlm3,
    ),
]
