"""GGUF architectures of the smaller dense families: what llama.cpp's converter made of each.

Facts: ggml-org/llama.cpp:conversion/{smollm3,olmo,internlm,glm,chatglm,starcoder,exaone,
ernie,qwenvl}.py; src/models/<family>.cpp and llama_model_rope_type for the order of rotary pairs.
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
    read_window,
)
from app.spec.gguf_metadata import GgufMetadata
from app.spec.layer_type import LayerType

_QKV = ATTENTION_LINEARS[:3]
_O = ATTENTION_LINEARS[3:]
_PLAIN_MLP = MLP_LINEARS[1:]


def _read_llama_biases(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    return {
        "attention_bias": has_biases(reader.file, ATTENTION_LINEARS, tensors),
        "mlp_bias": has_biases(reader.file, MLP_LINEARS, tensors),
    }


def _read_qkv_bias(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    return {"attention_bias": _has_qkv_bias(reader.file, tensors)}


def _has_qkv_bias(file: str, tensors: Collection[str]) -> bool:
    return "blk.0.attn_qkv.bias" in tensors or has_biases(file, _QKV, tensors)


def _read_seed_oss(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    return {
        "attention_bias": has_biases(reader.file, _QKV, tensors),
        "attention_out_bias": has_biases(reader.file, _O, tensors),
        "mlp_bias": has_biases(reader.file, MLP_LINEARS, tensors),
    }


def _read_use_bias(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    return {"use_bias": has_biases(reader.file, (*ATTENTION_LINEARS, *MLP_LINEARS), tensors)}


def _read_starcoder2(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    return {"use_bias": has_biases(reader.file, (*ATTENTION_LINEARS, *_PLAIN_MLP), tensors)}


def _read_olmo2(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    """OLMo 3 shares the architecture; its window is what tells it apart."""
    window = read_window(reader, config["num_hidden_layers"])
    if not window:
        return {}
    full = config["rope_parameters"]
    theta = reader.number("rope.freq_base_swa", full["rope_theta"])
    sliding = {"rope_type": "default", "rope_theta": theta}
    return {
        **window,
        "architectures": ["Olmo3ForCausalLM"],
        "model_type": "olmo3",
        "rope_parameters": {str(LayerType.FULL): full, str(LayerType.SLIDING): sliding},
    }


def _read_exaone4(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    window = read_window(reader, config["num_hidden_layers"])
    return window or {"sliding_window": None, "layer_types": None}


def _read_qwen_vl(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    """What only pictures need: axes of a position, equal in text, and layers that take features."""
    reader.value("rope.dimension_sections", None)
    reader.integer("n_deepstack_layers", 0)
    return {}


def _text_only(name: str) -> str:
    return Sentence("Only the language model of {name} is converted; it reads text.", name=name)


DENSE_ARCHITECTURES = {
    "qwen2vl": GgufArchitecture(
        "Qwen2ForCausalLM",
        "qwen2",
        read_more=_read_qwen_vl,
        note=_text_only(Sentence("Qwen2-VL or Qwen2.5-VL")),
    ),
    "qwen3vl": GgufArchitecture(
        "Qwen3ForCausalLM",
        "qwen3",
        read_more=_read_qwen_vl,
        note=_text_only("Qwen3-VL"),
    ),
    "smollm3": GgufArchitecture(
        "SmolLM3ForCausalLM", "smollm3", read_more=_read_llama_biases, neighbour_pairs=True
    ),
    "olmo2": GgufArchitecture("Olmo2ForCausalLM", "olmo2", read_more=_read_olmo2),
    "internlm2": GgufArchitecture("InternLM2ForCausalLM", "internlm2", neighbour_pairs=True),
    "chatglm": GgufArchitecture(
        "GlmForCausalLM",
        "glm",
        read_more=_read_qkv_bias,
        neighbour_pairs=True,
        partial_rotary=True,
    ),
    "glm4": GgufArchitecture(
        "Glm4ForCausalLM",
        "glm4",
        read_more=_read_qkv_bias,
        neighbour_pairs=True,
        partial_rotary=True,
    ),
    "seed_oss": GgufArchitecture(
        "SeedOssForCausalLM",
        "seed_oss",
        read_more=_read_seed_oss,
        names={"post_attention_layernorm": "post_attention_norm"},
    ),
    "starcoder2": GgufArchitecture(
        "Starcoder2ForCausalLM",
        "starcoder2",
        fixed={"hidden_act": "gelu_pytorch_tanh"},
        read_more=_read_starcoder2,
        eps=("attention.layer_norm_epsilon", "norm_epsilon"),
        note=Sentence(
            "GGUF does not store StarCoder2's window of 4,096 tokens; every token sees all "
            "before it, as in llama.cpp."
        ),
    ),
    "exaone4": GgufArchitecture("Exaone4ForCausalLM", "exaone4", read_more=_read_exaone4),
    "ernie4_5": GgufArchitecture(
        "Ernie4_5ForCausalLM", "ernie4_5", read_more=_read_use_bias, neighbour_pairs=True
    ),
}
