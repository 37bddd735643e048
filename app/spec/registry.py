"""Which adapter reads which configuration; everything else is refused by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter, architecture_of
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import ModelSpec
from app.spec.text_part import inner_names, text_config, text_names, wrapper_of
from app.spec.weight_names import WeightNames

_FAMILIES = (
    "llama",
    "qwen2",
    "qwen3",
    "mistral",
    "smollm3",
    "olmo2",
    "olmo3",
    "internlm2",
    "internlm3",
    "glm",
    "glm4",
    "seed_oss",
    "starcoder2",
    "exaone4",
    "ernie4_5",
    "mixtral",
    "qwen2_moe",
    "qwen3_moe",
    "qwen3_next",
    "qwen3_5",
    "qwen3_5_moe",
    "gpt_oss",
    "glm4_moe",
    "deepseek_v2",
    "deepseek_v3",
    "glm4_moe_lite",
    "phi3",
    "gemma",
    "gemma2",
    "gemma3",
    "granite",
    "ministral",
    "ministral3",
)


def _load_adapters() -> dict[str, tuple[str, ArchitectureAdapter]]:
    by_architecture: dict[str, tuple[str, ArchitectureAdapter]] = {}
    for family in _FAMILIES:
        path = f"app.spec.adapters.{family}"
        adapter: ArchitectureAdapter = import_module(path).ADAPTER
        by_architecture |= dict.fromkeys(adapter.architectures, (path, adapter))
    return by_architecture


_ADAPTERS = _load_adapters()


def supported_architectures() -> tuple[str, ...]:
    """Hugging Face class names that have an adapter."""
    return tuple(_ADAPTERS)


def iter_adapters() -> Iterator[tuple[str, ArchitectureAdapter]]:
    """(module, declaration) of every family."""
    yield from dict(_ADAPTERS.values()).items()


def create_spec(config: Mapping[str, Any]) -> ModelSpec:
    """The ModelSpec of a Hugging Face configuration.

    Of a model that also sees it is that of the language model inside. Raises UnsupportedError
    naming the architecture, or the field, that is not supported.
    """
    text = text_config(config)
    path, adapter = _find(text)
    return adapter.read(ConfigReader(text), path)


def weight_names(config: Mapping[str, Any], tensors: Collection[str] = ()) -> WeightNames:
    """How checkpoints of this configuration's family name their tensors; raises likewise.

    `tensors` are the names that a folder has: they tell the known spellings apart.
    """
    names = _find(text_config(config))[1].weight_names
    in_wrapper = wrapper_of(config) is not None
    return text_names(names, tensors) if in_wrapper else inner_names(names, tensors)


def _find(config: Mapping[str, Any]) -> tuple[str, ArchitectureAdapter]:
    architecture = architecture_of(ConfigReader(config))
    if architecture not in _ADAPTERS:
        raise UnsupportedError(
            "The architecture {architecture} is not supported.", architecture=architecture
        )
    path, adapter = _ADAPTERS[architecture]
    model_type = config.get("model_type")
    if model_type is not None and model_type not in adapter.model_types:
        raise UnsupportedError(
            "config.json says architecture {architecture} but model_type {model_type!r}.",
            architecture=architecture,
            model_type=model_type,
        )
    return path, adapter
