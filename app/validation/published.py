"""The tensors that transformers would write for a configuration: names and shapes, no data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.validation.reference_model import ReferenceClass


def published_shapes(
    reference: ReferenceClass, config: Mapping[str, Any]
) -> dict[str, tuple[int, ...]]:
    """What `save_pretrained` would store: experts apart again, ties left out."""
    from transformers.core_model_loading import revert_weight_conversion

    model = reference.create_on_meta(config)
    state = dict(model.state_dict())
    if model.config.tie_word_embeddings:
        for name in getattr(model, "_tied_weights_keys", None) or {}:
            state.pop(name, None)
    published = revert_weight_conversion(model, state)
    return {name: tuple(tensor.shape) for name, tensor in published.items()}
