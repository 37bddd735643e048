"""config.json of a small Llama, for repositories whose weights nobody opens."""

from __future__ import annotations

import json

_CONFIG: dict[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": 288,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 128,
}


def small_config(**changes: object) -> bytes:
    """The file's contents, with other values or more of them."""
    return json.dumps(_CONFIG | changes).encode()
