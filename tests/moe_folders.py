"""Tiny Hugging Face folders with experts, of random weights, dense or encoded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

from app.spec.registry import create_spec, weight_names
from app.spec.weights import has_bias, is_router, iter_linears, iter_vectors
from tests.gguf_factory import Floats
from tests.quantized_folders import Arrays

NUM_EXPERTS = 4
SIZES = {
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 97,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "num_experts_per_tok": 2,
    "eos_token_id": 2,
}
MIXTRAL: dict[str, Any] = {
    **SIZES,
    "architectures": ["MixtralForCausalLM"],
    "model_type": "mixtral",
    "num_local_experts": NUM_EXPERTS,
}
QWEN2_MOE: dict[str, Any] = {
    **SIZES,
    "architectures": ["Qwen2MoeForCausalLM"],
    "model_type": "qwen2_moe",
    "num_experts": NUM_EXPERTS,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 192,
}
QWEN3_MOE: dict[str, Any] = {
    **SIZES,
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "num_experts": NUM_EXPERTS,
    "moe_intermediate_size": 64,
    "norm_topk_prob": True,
}
GPT_OSS: dict[str, Any] = {
    **{key: value for key, value in SIZES.items() if key != "rope_theta"},
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "num_local_experts": NUM_EXPERTS,
    "sliding_window": 9,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 1000.0,
        "factor": 8.0,
        "original_max_position_embeddings": 32,
        "truncate": False,
    },
}


def random_tensors(config: Mapping[str, Any], seed: int = 0) -> Arrays:
    """Every tensor under its name in the folder, one for each expert; values are bfloat16's."""
    spec, names, rng = create_spec(config), weight_names(config), np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in iter_linears(spec):
        shapes[f"{names.stem(name)}.weight"] = shape
        if has_bias(spec, name):
            shapes[f"{names.stem(name)}.bias"] = shape[:1]
    shapes |= {names.vector(name): shape for name, shape in iter_vectors(spec)}
    return {name: random_weights(shape, rng) for name, shape in shapes.items()}


def random_weights(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """float32 that bfloat16 holds."""
    rounded = (rng.standard_normal(shape) * 0.1).astype(ml_dtypes.bfloat16)
    return rounded.astype(np.float32)


def encoded_stems(config: Mapping[str, Any]) -> dict[str, str]:
    """canonical name -> the folder's, of what a quantizer quantizes: layers without routers."""
    names = weight_names(config)
    linears = [name for name, _ in iter_linears(create_spec(config))]
    return {n: names.stem(n) for n in linears if n.startswith("layers.") and not is_router(n)}


def encode(
    tensors: Arrays, config: Mapping[str, Any], encoder: Callable[[Floats], Arrays]
) -> Arrays:
    """The folder's tensors with every linear of `encoded_stems` encoded."""
    encoded = dict(tensors)
    for stem in encoded_stems(config).values():
        weight = encoded.pop(f"{stem}.weight")
        encoded |= {f"{stem}.{name}": array for name, array in encoder(weight).items()}
    return encoded


def write_folder(folder: Path, config: Mapping[str, Any], tensors: Arrays) -> Path:
    """config.json, one file of weights, a tokenizer."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    save_file(
        {n: np.ascontiguousarray(t) for n, t in tensors.items()}, folder / "model.safetensors"
    )
    return folder
