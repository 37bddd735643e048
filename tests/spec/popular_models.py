"""A popular model as a case: its config.json, re-typed from the Hub, and what it must mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Config = dict[str, Any]

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
SLIDING, FULL = "sliding_attention", "full_attention"


@dataclass(frozen=True)
class Supported:
    """`billions` of weights as published; `facts` are attributes of the ModelSpec, dotted."""

    name: str
    config: Config
    billions: float
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def sizes(
    hidden: int, inner: int, layers: int, heads: int, kv_heads: int, vocab: int, positions: int
) -> Config:
    """What every configuration says, in the order in which papers tell it."""
    return {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": vocab,
        "max_position_embeddings": positions,
    }


def named(architecture: str, model_type: str, **others: Any) -> Config:
    """A configuration of this class."""
    return {"architectures": [architecture], "model_type": model_type, **others}


def every_fourth(first: Any, fourth: Any, layers: int) -> list[Any]:
    """first, first, first, fourth, first ..."""
    return [first if (index + 1) % 4 else fourth for index in range(layers)]
