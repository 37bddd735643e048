"""The kinds of a decoder's layers."""

from __future__ import annotations

from enum import StrEnum


class LayerType(StrEnum):
    """How a layer's attention sees the past, in Hugging Face's words."""

    FULL = "full_attention"
    SLIDING = "sliding_attention"
    LINEAR = "linear_attention"  # through a state of fixed size (DeltaNetSpec)
