"""The language model inside a model that also sees: its configuration, and its tensors' names.

Only the text is read; the vision tower and what projects its features are left aside. Facts:
transformers/models/{gemma3,mistral3}/configuration_*.py, and conversion_mapping.py for the names of
tensors before and after transformers 4.52.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.weight_names import WeightNames

# What the inner configuration may leave to transformers' class.
_GEMMA3_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "model_type": "gemma3_text",
        "vocab_size": 262_208,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "max_position_embeddings": 131_072,
    }
)
# What the outer configuration says, too, and more reliably.
_OUTER_KEYS = ("bos_token_id", "eos_token_id", "pad_token_id", "dtype", "torch_dtype")
_SIGHT = r"(model\.)?(vision_tower|multi_modal_projector)\..*"


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """`text_classes`: the inner model_type -> the class that is the language model alone."""

    model_type: str
    text_classes: Mapping[str, str]
    defaults: Mapping[str, Any]


_WRAPPERS = {
    "Gemma3ForConditionalGeneration": _Wrapper(
        "gemma3", {"gemma3_text": "Gemma3ForCausalLM"}, _GEMMA3_DEFAULTS
    ),
    "Mistral3ForConditionalGeneration": _Wrapper(
        "mistral3",
        {"mistral": "MistralForCausalLM", "ministral3": "Ministral3ForCausalLM"},
        {"model_type": "mistral"},
    ),
}


def wrapper_of(config: Mapping[str, Any]) -> str | None:
    """The class of `config` when its language model is only a part of it."""
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and len(names) == 1 else None
    return name if isinstance(name, str) and name in _WRAPPERS else None


def text_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of the language model alone; `config` itself when it is nothing else.

    Raises UnsupportedError for a wrapper around a language model that is not known.
    """
    name = wrapper_of(config)
    if name is None:
        return dict(config)
    wrapper, inner = _WRAPPERS[name], config.get("text_config")
    if not isinstance(inner, dict) or config.get("model_type") != wrapper.model_type:
        raise UnsupportedError(
            f"The configuration of {name} needs model_type {wrapper.model_type!r} "
            "and a text_config."
        )
    text = {**wrapper.defaults, **inner}
    if text["model_type"] not in wrapper.text_classes:
        raise UnsupportedError(f"{name} around {text['model_type']!r} is not supported.")
    text |= {key: config[key] for key in _OUTER_KEYS if config.get(key) is not None}
    tied = config.get("tie_word_embeddings", inner.get("tie_word_embeddings", True))
    return {
        **text,
        "architectures": [wrapper.text_classes[text["model_type"]]],
        "tie_word_embeddings": tied,
    }


def text_names(names: WeightNames, tensors: Collection[str]) -> WeightNames:
    """`names` of the language model as a folder with such `tensors` stores them in a wrapper."""
    ignored = (*names.ignored, _SIGHT)
    if any(name.startswith("language_model.") for name in tensors):
        outer = {**names.outer, "lm_head": "language_model.lm_head"}
        return replace(names, prefix="language_model.model.", outer=outer, ignored=ignored)
    return replace(names, prefix="model.language_model.", ignored=ignored)
