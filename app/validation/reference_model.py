"""The installed transformers class of an architecture, the reference: imported when needed."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.frozen import missing_extra
from app.core.jobs import CancelToken
from app.core.sentence import Sentence
from app.spec.rope import RopeType
from app.validation.check import NotRunError

_PACKAGES = Sentence("torch and transformers")
# Keys that transformers' own class of the same network calls otherwise.
_RENAMED_KEYS = {"internlm3": {"qkv_bias": "attention_bias", "bias": "mlp_bias"}}
_NEVER_REFERENCE = ("quantization_config", "compression_config", "quantization", "auto_map")


@dataclass(frozen=True, slots=True)
class ReferenceClass:
    """transformers' causal language model of one configuration.

    `config_class` and `model_class` are transformers' classes, `text` names both with the version.
    """

    config_class: Any
    model_class: Any
    text: str

    def create_config(self, config: Mapping[str, Any]) -> Any:
        """transformers' configuration object of a config.json, with eager attention."""
        renamed = _RENAMED_KEYS.get(str(config.get("model_type")), {})
        values = {
            renamed.get(key, key): copy.deepcopy(value)
            for key, value in config.items()
            if key not in _NEVER_REFERENCE
        }
        created = self.config_class.from_dict(values)
        created._attn_implementation = "eager"
        # The class's own default may lie outside the vocabulary of a configuration without one.
        if (created.pad_token_id or 0) >= created.vocab_size:
            created.pad_token_id = None
        return created

    def create_on_meta(self, config: Mapping[str, Any]) -> Any:
        """The whole module without any memory for its weights."""
        import torch

        with torch.device("meta"):
            return self.model_class(self.create_config(config)).eval()

    def create_empty(self, config: Mapping[str, Any]) -> Any:
        """The module in float32, its weights neither drawn nor zeroed; buffers are computed."""
        import torch
        from transformers.initialization import no_init_weights

        with no_init_weights():
            model = self.model_class(self.create_config(config))
        return model.to(torch.float32).eval()


def find_reference(config: Mapping[str, Any], cancel: CancelToken) -> ReferenceClass:
    """Raises NotRunError where torch, transformers, or a class for the model is missing."""
    if _rope_type(config) == RopeType.TABLE:
        raise NotRunError(Sentence("transformers has no rope that is a table of frequencies"))
    version = _import_version(cancel)
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    model_type = str(config.get("model_type"))
    if model_type not in CONFIG_MAPPING:
        raise NotRunError(
            Sentence(
                "transformers {version} does not know model_type {model_type!r}",
                version=version,
                model_type=model_type,
            )
        )
    config_class = CONFIG_MAPPING[model_type]
    if config_class not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise NotRunError(
            Sentence(
                "transformers {version} has no causal model of {model_type!r}",
                version=version,
                model_type=model_type,
            )
        )
    cancel.check()
    model_class: Any = MODEL_FOR_CAUSAL_LM_MAPPING[config_class]
    text = Sentence(
        "transformers {version}, {model_class} ({config_class})",
        version=version,
        model_class=model_class.__name__,
        config_class=config_class.__name__,
    )
    return ReferenceClass(config_class, model_class, text)


def _import_version(cancel: CancelToken) -> str:
    """Imports in steps, since none of them can be interrupted."""
    try:
        for name in ("torch", "transformers", "transformers.modeling_utils"):
            cancel.check()
            module = importlib.import_module(name)
            if name == "transformers":
                module.logging.set_verbosity_error()
                module.logging.disable_progress_bar()
                version = str(module.__version__)
    except ModuleNotFoundError as error:
        how = missing_extra("reference", _PACKAGES)
        raise NotRunError(
            Sentence("{package} is not installed; {how}", package=error.name, how=how)
        ) from error
    return version


def _rope_type(config: Mapping[str, Any]) -> object:
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return rope.get("rope_type", rope.get("type")) if isinstance(rope, dict) else None
