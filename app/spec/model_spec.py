"""The one frozen description of a network that executors dispatch on.

A field exists only when every executor honours it or refuses its non-default values by name.
Names are those of Hugging Face configurations.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.core.errors import UnsupportedError
from app.spec.rope import RopeSpec


class LayerType(StrEnum):
    """How a layer's attention sees the past, in Hugging Face's words."""

    FULL = "full_attention"
    SLIDING = "sliding_attention"


@dataclass(frozen=True, slots=True)
class AttentionBias:
    """Which projections of the attention block carry a bias."""

    q: bool = False
    k: bool = False
    v: bool = False
    o: bool = False


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A decoder-only transformer.

    Sizes are counts of elements; `head_dim` is explicit and need not be hidden_size / heads.
    `sliding_window` counts the keys a query sees, itself included (transformers' meaning).
    """

    family: str
    architecture: str
    model_type: str
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    max_position_embeddings: int
    rms_norm_eps: float
    rope: RopeSpec
    hidden_act: str
    tie_word_embeddings: bool
    attention_bias: AttentionBias
    mlp_bias: bool
    qk_norm: bool
    sliding_window: int | None
    layer_types: tuple[LayerType, ...]
    dtype: str
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    adapter_path: str

    @property
    def num_queries_per_kv(self) -> int:
        """Query heads that share one key/value head (GQA)."""
        return self.num_attention_heads // self.num_key_value_heads

    @property
    def q_size(self) -> int:
        """Rows of q_proj."""
        return self.num_attention_heads * self.head_dim

    @property
    def kv_size(self) -> int:
        """Rows of k_proj and of v_proj."""
        return self.num_key_value_heads * self.head_dim

    def validate(self) -> ModelSpec:
        """Returns self; raises UnsupportedError naming the field that cannot be."""
        self._check_positive()
        if self.num_attention_heads % self.num_key_value_heads:
            raise UnsupportedError(
                f"num_attention_heads ({self.num_attention_heads}) is not a multiple of "
                f"num_key_value_heads ({self.num_key_value_heads})."
            )
        if self.head_dim % 2:
            raise UnsupportedError(
                f"head_dim ({self.head_dim}) is odd; rotary embedding needs pairs."
            )
        if self.hidden_act not in ("silu",):
            raise UnsupportedError(f"hidden_act {self.hidden_act!r} is not implemented.")
        if len(self.layer_types) != self.num_hidden_layers:
            raise UnsupportedError(
                f"layer_types names {len(self.layer_types)} layers, "
                f"num_hidden_layers is {self.num_hidden_layers}."
            )
        if LayerType.SLIDING in self.layer_types and not self.sliding_window:
            raise UnsupportedError(
                "layer_types asks for sliding_attention, but sliding_window is not set."
            )
        return self

    def _check_positive(self) -> None:
        for name in (
            "hidden_size",
            "intermediate_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "head_dim",
            "vocab_size",
            "max_position_embeddings",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise UnsupportedError(f"{name} must be a positive integer, not {value!r}.")
