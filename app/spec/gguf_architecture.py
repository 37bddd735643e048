"""What is declared of a GGUF architecture."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from app.core.errors import UnsupportedError
from app.core.sentence import Sentence
from app.spec.gguf_metadata import GgufMetadata
from app.spec.layer_type import LayerType

# (metadata, the configuration so far, the names of all tensors) -> further configuration
ReadMore = Callable[[GgufMetadata, Mapping[str, Any], Collection[str]], Mapping[str, Any]]

_SILU: Mapping[str, Any] = MappingProxyType({"hidden_act": "silu"})
_NO_NAMES: Mapping[str, str] = MappingProxyType({})
ATTENTION_LINEARS = ("attn_q", "attn_k", "attn_v", "attn_output")
MLP_LINEARS = ("ffn_gate", "ffn_up", "ffn_down")


def nothing_more(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    """The sizes say it all."""
    return {}


@dataclass(frozen=True, slots=True)
class GgufArchitecture:
    """Which Hugging Face class a GGUF architecture stands for, and how its files differ.

    `fixed` is configuration that GGUF does not store; `numbers` maps required metadata keys to the
    configuration's; `read_more` gives whatever else there is, and may overrule the class. `names`
    maps canonical names within a layer to GGUF's where they are not the usual ones.
    `neighbour_pairs`: a rotary pair of q and k is two rows that follow each other, not
    (i, i + dim / 2). `is_latent`: heads are of latent attention, whose sizes `read_more` finds, and
    all of `head_dim` rotates. `has_tiled_values`: value heads of linear layers are in the order of
    `tiled_heads`. Without `has_dense_mlp` the metadata may know no size but that of the experts.
    `eps` names the norm's eps in the metadata and in the configuration.
    `note` goes into the report of every such file, those of `notes_without` only where the metadata
    lacks the key.
    """

    class_name: str
    model_type: str
    fixed: Mapping[str, Any] = field(default_factory=lambda: _SILU)
    numbers: Mapping[str, str] = field(default_factory=lambda: _NO_NAMES)
    read_more: ReadMore = nothing_more
    names: Mapping[str, str] = field(default_factory=lambda: _NO_NAMES)
    neighbour_pairs: bool = False
    partial_rotary: bool = False
    has_experts: bool = False
    is_latent: bool = False
    has_tiled_values: bool = False
    has_dense_mlp: bool = True
    eps: tuple[str, str] = ("attention.layer_norm_rms_epsilon", "rms_norm_eps")
    note: str = ""
    notes_without: Mapping[str, str] = field(default_factory=lambda: _NO_NAMES)


def has_biases(file: str, linears: tuple[str, ...], tensors: Collection[str]) -> bool:
    """Whether the first layer's linears have biases; all of them or none."""
    present = [name for name in linears if f"blk.0.{name}.bias" in tensors]
    if present and len(present) != len(linears):
        raise UnsupportedError(
            "{file}: only {present} of {linears} have biases.",
            file=file,
            present=", ".join(present),
            linears=", ".join(linears),
        )
    return bool(present)


def read_window(
    reader: GgufMetadata, num_layers: int, period: int = 4, default_window: int = 0
) -> dict[str, Any]:
    """Which layers slide: a flag for each, or the period of full ones, `period` when absent."""
    window = reader.integer("attention.sliding_window", default_window)
    pattern = reader.value("attention.sliding_window_pattern", period)
    if not window:
        return {}
    if isinstance(pattern, np.ndarray):
        slides = [bool(entry) for entry in pattern]
    elif isinstance(pattern, int) and pattern > 0:
        slides = [(index + 1) % pattern != 0 for index in range(num_layers)]
    else:
        raise reader.refuse(
            "attention.sliding_window_pattern",
            Sentence("{pattern!r} is not supported", pattern=pattern),
        )
    kinds = [str(LayerType.SLIDING if entry else LayerType.FULL) for entry in slides]
    return {"sliding_window": window, "layer_types": kinds}
