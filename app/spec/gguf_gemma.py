"""GGUF architectures of Gemma; conversion/gemma.py and src/models/gemma*.cpp of llama.cpp.

llama.cpp stores 1 + w for a norm's w, no scale of attention (a size of model stands for it), and
windows only where they are not every second (Gemma 2) or sixth (Gemma 3) layer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from app.spec.gguf_architecture import GgufArchitecture, read_window
from app.spec.gguf_metadata import GgufMetadata
from app.spec.layer_type import LayerType

_FIXED = {"hidden_activation": "gelu_pytorch_tanh"}
# The layers of the 27B models, which scale by hidden_size / heads where the others do by head_dim.
_LAYERS_OF_27B = {"gemma2": 46, "gemma3_text": 62}


def _query_pre_attn_scalar(config: Mapping[str, Any]) -> int:
    if config["num_hidden_layers"] == _LAYERS_OF_27B[config["model_type"]]:
        return int(config["hidden_size"] // config["num_attention_heads"])
    return int(config["head_dim"])


def _read_gemma2(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    return {
        **read_window(reader, config["num_hidden_layers"], period=2, default_window=4096),
        "query_pre_attn_scalar": _query_pre_attn_scalar(config),
        "attn_logit_softcapping": reader.number("attn_logit_softcapping", 50.0),
        "final_logit_softcapping": reader.number("final_logit_softcapping", 30.0),
    }


def _read_gemma3(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    num_layers = config["num_hidden_layers"]
    window = read_window(reader, num_layers, period=6)
    theta = reader.number("rope.freq_base_swa", 10_000.0)
    sliding = {"rope_type": "default", "rope_theta": theta}
    return {
        **(window or {"layer_types": [str(LayerType.FULL)] * num_layers}),
        "query_pre_attn_scalar": _query_pre_attn_scalar(config),
        "final_logit_softcapping": reader.number("final_logit_softcapping", None),
        "rope_parameters": {
            str(LayerType.FULL): config["rope_parameters"],
            str(LayerType.SLIDING): sliding,
        },
    }


GEMMA_ARCHITECTURES = {
    "gemma": GgufArchitecture("GemmaForCausalLM", "gemma", fixed=_FIXED),
    "gemma2": GgufArchitecture("Gemma2ForCausalLM", "gemma2", fixed=_FIXED, read_more=_read_gemma2),
    "gemma3": GgufArchitecture(
        "Gemma3ForCausalLM", "gemma3_text", fixed=_FIXED, read_more=_read_gemma3
    ),
}
