"""The architectures of GGUF files, each a declaration of what llama.cpp's converter made of it.

Facts: ggml-org/llama.cpp:conversion/<family>.py writes the files, src/models/<family>.cpp says what
stands for a key that is absent, gguf-py/gguf/constants.py names the keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from app.spec.gguf_architecture import (
    ATTENTION_LINEARS,
    MLP_LINEARS,
    GgufArchitecture,
    has_biases,
)
from app.spec.gguf_dense import DENSE_ARCHITECTURES
from app.spec.gguf_metadata import GgufMetadata
from app.spec.gguf_moe import MOE_ARCHITECTURES, read_mixtral


def _read_llama(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    """Mistral v0.1 shares the architecture; its window is what tells it apart."""
    window = reader.integer("attention.sliding_window", 0)
    if reader.integer("expert_count", 0):
        return read_mixtral(reader) | {"sliding_window": window or None}
    if window:
        return {
            "architectures": ["MistralForCausalLM"],
            "model_type": "mistral",
            "sliding_window": window,
        }
    return {
        "attention_bias": has_biases(reader.file, ATTENTION_LINEARS, tensors),
        "mlp_bias": has_biases(reader.file, MLP_LINEARS, tensors),
    }


ARCHITECTURES = {
    "llama": GgufArchitecture(
        "LlamaForCausalLM",
        "llama",
        read_more=_read_llama,
        neighbour_pairs=True,
        has_experts=True,
    ),
    "qwen2": GgufArchitecture("Qwen2ForCausalLM", "qwen2"),
    "qwen3": GgufArchitecture("Qwen3ForCausalLM", "qwen3"),
    **DENSE_ARCHITECTURES,
    **MOE_ARCHITECTURES,
}
