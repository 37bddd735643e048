"""Which adapter reads which configuration; everything else is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter, architecture_of
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import ModelSpec
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
    "gpt_oss",
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


def create_spec(config: Mapping[str, Any]) -> ModelSpec:
    """The ModelSpec of a Hugging Face configuration.

    Raises UnsupportedError naming the architecture, or the field, that is not supported.
    """
    path, adapter = _find(config)
    return adapter.read(ConfigReader(config), path)


def weight_names(config: Mapping[str, Any]) -> WeightNames:
    """How the checkpoints of this configuration's family name their tensors; raises likewise."""
    return _find(config)[1].weight_names


def _find(config: Mapping[str, Any]) -> tuple[str, ArchitectureAdapter]:
    architecture = architecture_of(ConfigReader(config))
    if architecture not in _ADAPTERS:
        raise UnsupportedError(f"The architecture {architecture} is not supported.")
    path, adapter = _ADAPTERS[architecture]
    model_type = config.get("model_type")
    if model_type is not None and model_type not in adapter.model_types:
        raise UnsupportedError(
            f"config.json says architecture {architecture} but model_type {model_type!r}."
        )
    return path, adapter
