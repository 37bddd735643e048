"""The architectures of GGUF files, each a declaration of what llama.cpp's converter made of it.

Facts: ggml-org/llama.cpp:conversion/<family>.py writes the files, src/models/<family>.cpp says what
stands for a key that is absent, gguf-py/gguf/constants.py names the keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from app.core.sentence import Sentence
from app.spec.gguf_architecture import (
    ATTENTION_LINEARS,
    MLP_LINEARS,
    GgufArchitecture,
    has_biases,
)
from app.spec.gguf_dense import DENSE_ARCHITECTURES
from app.spec.gguf_gemma import GEMMA_ARCHITECTURES
from app.spec.gguf_hybrid import HYBRID_ARCHITECTURES
from app.spec.gguf_latent import LATENT_ARCHITECTURES
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


def _read_phi3(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    """A window of 0 is how the converter says none; the trained length is said always."""
    reader.integer("rope.scaling.original_context_length", 0)
    reader.number("rope.scaling.attn_factor", 1.0)
    return {"sliding_window": reader.integer("attention.sliding_window", 0) or None}


def _read_granite(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    """In this architecture alone `rope.scaling.finetuned` is the switch of the rope."""
    if reader.value("rope.scaling.finetuned", True) is not True:
        raise reader.refuse(
            "rope.scaling.finetuned", Sentence("Granite without rope is not supported")
        )
    return {
        "attention_bias": has_biases(reader.file, ATTENTION_LINEARS, tensors),
        "mlp_bias": has_biases(reader.file, MLP_LINEARS, tensors),
    }


def _read_mistral3(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    """Ministral 3 where queries are scaled by position, else Mistral (Small 3.1)."""
    beta = reader.number("attention.temperature_scale", 0.0)
    mscale_all_dim = reader.number("rope.scaling.yarn_log_multiplier", 0.0)
    rope = dict(config["rope_parameters"])
    if mscale_all_dim:
        rope |= {"mscale": 1.0, "mscale_all_dim": mscale_all_dim}  # llama.cpp assumes the former
    if not beta:
        return {
            "architectures": ["MistralForCausalLM"],
            "model_type": "mistral",
            "rope_parameters": rope,
        }
    return {"rope_parameters": {**rope, "llama_4_scaling_beta": beta}}


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
    "phi3": GgufArchitecture("Phi3ForCausalLM", "phi3", read_more=_read_phi3, partial_rotary=True),
    "granite": GgufArchitecture(
        "GraniteForCausalLM",
        "granite",
        numbers={
            "attention.scale": "attention_multiplier",
            "embedding_scale": "embedding_multiplier",
            "residual_scale": "residual_multiplier",
            "logit_scale": "logits_scaling",
        },
        read_more=_read_granite,
        neighbour_pairs=True,
    ),
    "mistral3": GgufArchitecture(
        "Ministral3ForCausalLM", "ministral3", read_more=_read_mistral3, neighbour_pairs=True
    ),
    **GEMMA_ARCHITECTURES,
    **DENSE_ARCHITECTURES,
    **MOE_ARCHITECTURES,
    **LATENT_ARCHITECTURES,
    **HYBRID_ARCHITECTURES,
}
