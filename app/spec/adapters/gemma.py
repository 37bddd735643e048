"""Gemma 1: norms that multiply with 1 + w, scaled embeddings; what Gemma 2 and 3 share with it."""

import math
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter, attention_bias_flag
from app.spec.config_reader import ConfigReader

_TANH_GELU = "gelu_pytorch_tanh"


def read_gemma(config: ConfigReader) -> dict[str, Any]:
    """What every Gemma does: the fields of ModelSpec that are not Llama's."""
    dtype = str(config.value("dtype", config.value("torch_dtype", "float32")))
    return {
        "norm_offset": 1.0,
        "embedding_multiplier": _rounded(math.sqrt(config.integer("hidden_size")), dtype),
        "hidden_act": _activation(config),
    }


def _activation(config: ConfigReader) -> str:
    """`hidden_activation`, or `hidden_act`, whose "gelu" is the legacy word for the tanh form."""
    legacy = config.text("hidden_act", _TANH_GELU)
    legacy = _TANH_GELU if legacy == "gelu" else legacy
    found = config.text("hidden_activation", legacy)
    if found != legacy and legacy != _TANH_GELU:
        raise UnsupportedError(
            "hidden_act is {legacy!r}, but hidden_activation is {found!r}.",
            legacy=legacy,
            found=found,
        )
    return found


def _rounded(value: float, dtype: str) -> float:
    """As a number of the model's dtype, in which transformers multiplies."""
    import ml_dtypes
    import numpy as np

    dtypes = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
    return float(np.float32(value).astype(dtypes.get(dtype, np.float32)))


ADAPTER = ArchitectureAdapter(
    family="gemma",
    architectures=("GemmaForCausalLM",),
    model_types=("gemma",),
    read_attention_bias=attention_bias_flag,
    read_differences=read_gemma,
    default_rope_theta=10_000.0,
    default_rms_norm_eps=1e-6,
    default_head_dim=256,
    default_tie_word_embeddings=True,
)
