"""The language model inside a model that also sees: its configuration, and its tensors' names.

Only the text is read; the vision tower and what projects its features are left aside. Facts:
transformers/models/{gemma3,mistral3,qwen2_vl,qwen2_5_vl,qwen3_vl,qwen3_5}/configuration_*.py, and
conversion_mapping.py for the names of tensors before and after transformers 4.52.
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
_SIGHT = r"(model\.)?(vision_tower|multi_modal_projector|visual)\..*"
_SIGHT_KEYS = (
    "vision_config",
    "image_token_id",
    "video_token_id",
    "vision_start_token_id",
    "vision_end_token_id",
    "vision_token_id",
)
# How a position's axes share the frequencies of a head; in text the axes are equal.
_AXES_KEYS = ("mrope_section", "mrope_interleaved")


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """`text_classes`: the inner model_type -> class and model_type of the language model alone.

    `may_be_flat`: older releases said the text's sizes beside `vision_config`.
    """

    model_type: str
    text_classes: Mapping[str, tuple[str, str]]
    defaults: Mapping[str, Any]
    may_be_flat: bool = False


def _qwen_vl(model_type: str, text_class: tuple[str, str]) -> _Wrapper:
    inner = f"{model_type}_text"
    return _Wrapper(model_type, {inner: text_class}, {"model_type": inner}, may_be_flat=True)


def _qwen3_5(model_type: str, class_name: str) -> _Wrapper:
    inner = f"{model_type}_text"
    defaults = {"model_type": inner, "tie_word_embeddings": False}
    return _Wrapper(model_type, {inner: (class_name, inner)}, defaults)


_WRAPPERS = {
    "Gemma3ForConditionalGeneration": _Wrapper(
        "gemma3", {"gemma3_text": ("Gemma3ForCausalLM", "gemma3_text")}, _GEMMA3_DEFAULTS
    ),
    "Mistral3ForConditionalGeneration": _Wrapper(
        "mistral3",
        {
            "mistral": ("MistralForCausalLM", "mistral"),
            "ministral3": ("Ministral3ForCausalLM", "ministral3"),
        },
        {"model_type": "mistral"},
    ),
    "Qwen2VLForConditionalGeneration": _qwen_vl("qwen2_vl", ("Qwen2ForCausalLM", "qwen2")),
    "Qwen2_5_VLForConditionalGeneration": _qwen_vl("qwen2_5_vl", ("Qwen2ForCausalLM", "qwen2")),
    "Qwen3VLForConditionalGeneration": _qwen_vl("qwen3_vl", ("Qwen3ForCausalLM", "qwen3")),
    "Qwen3_5ForConditionalGeneration": _qwen3_5("qwen3_5", "Qwen3_5ForCausalLM"),
    "Qwen3_5MoeForConditionalGeneration": _qwen3_5("qwen3_5_moe", "Qwen3_5MoeForCausalLM"),
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
    wrapper = _WRAPPERS[name]
    inner = _inner(config, wrapper)
    if inner is None or config.get("model_type") != wrapper.model_type:
        raise UnsupportedError(
            "The configuration of {name} needs model_type {model_type!r} and a text_config.",
            name=name,
            model_type=wrapper.model_type,
        )
    text = {**wrapper.defaults, **inner}
    if text["model_type"] not in wrapper.text_classes:
        raise UnsupportedError(
            "{name} around {model_type!r} is not supported.",
            name=name,
            model_type=text["model_type"],
        )
    text |= {key: config[key] for key in _OUTER_KEYS if config.get(key) is not None}
    class_name, model_type = wrapper.text_classes[text["model_type"]]
    tied = config.get("tie_word_embeddings", text.get("tie_word_embeddings", True))
    return {
        **text,
        **{
            key: _plain_rope(text[key])
            for key in ("rope_scaling", "rope_parameters")
            if key in text
        },
        "architectures": [class_name],
        "model_type": model_type,
        "tie_word_embeddings": tied,
    }


def _inner(config: Mapping[str, Any], wrapper: _Wrapper) -> dict[str, Any] | None:
    inner = config.get("text_config")
    if inner is None and wrapper.may_be_flat:
        inner = {key: value for key, value in config.items() if key != "model_type"}
    if not isinstance(inner, dict):
        return None
    return {key: value for key, value in inner.items() if key not in _SIGHT_KEYS}


def _plain_rope(rope: Any) -> Any:
    """Without the axes of positions; `mrope` was the name of the unscaled type with axes."""
    if not isinstance(rope, dict):
        return rope
    plain = {key: value for key, value in rope.items() if key not in _AXES_KEYS}
    return {
        key: "default" if key in ("type", "rope_type") and value == "mrope" else value
        for key, value in plain.items()
    }


def text_names(names: WeightNames, tensors: Collection[str]) -> WeightNames:
    """`names` of the language model as a folder with such `tensors` stores them in a wrapper."""
    return replace(inner_names(names, tensors), ignored=(*names.ignored, _SIGHT))


def inner_names(names: WeightNames, tensors: Collection[str]) -> WeightNames:
    """The same of a language model that was taken out of its wrapper.

    transformers 5 then keeps the wrapper's prefix: conversion_mapping.py, `qwen3_5_text`.
    """
    if any(name.startswith("language_model.") for name in tensors):
        outer = {**names.outer, "lm_head": "language_model.lm_head"}
        return replace(names, prefix="language_model.model.", outer=outer)
    if any(name.startswith("model.language_model.") for name in tensors):
        return replace(names, prefix="model.language_model.")
    return names
