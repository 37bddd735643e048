"""The one frozen description of a network that executors dispatch on.

A field exists only when every executor honours it or refuses its non-default values by name.
Names are those of Hugging Face configurations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from app.core.errors import UnsupportedError
from app.spec.delta_net_spec import DeltaNetSpec
from app.spec.layer_type import LayerType
from app.spec.mla_spec import MlaSpec
from app.spec.moe_spec import MoeSpec
from app.spec.rope import RopeSpec

ACTIVATIONS = ("silu", "gelu", "gelu_pytorch_tanh")


class NormType(StrEnum):
    """What every norm of the decoder computes."""

    RMS_NORM = "rms_norm"
    LAYER_NORM = "layer_norm"


class NormPlacement(StrEnum):
    """Where the norms of attention and MLP stand."""

    PRE = "pre"  # before each
    POST = "post"  # on each one's output, before it is added to the residual (OLMo2)
    SANDWICH = "sandwich"  # both (Gemma 2 and 3, GLM-4)


class QKNorm(StrEnum):
    """Norms of queries and keys before the rotary embedding."""

    NONE = "none"
    HEAD = "head"  # over head_dim (Qwen3)
    PROJECTION = "projection"  # over all heads at once (OLMo2)


class MlpType(StrEnum):
    """What the dense MLP computes."""

    GATED = "gated"  # down(act(gate(x)) * up(x))
    PLAIN = "plain"  # down(act(up(x)))


@dataclass(frozen=True, slots=True)
class AttentionBias:
    """Which projections of the attention block carry a bias."""

    q: bool = False
    k: bool = False
    v: bool = False
    o: bool = False


@dataclass(frozen=True, slots=True)
class QueryScaling:
    """Queries grow with their position: times 1 + beta * ln(1 + floor(position / length))."""

    beta: float
    original_max_position_embeddings: int


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A decoder-only transformer; what has a default is as in Llama unless the family differs.

    Sizes are counts of elements; `head_dim` is explicit and need not be hidden_size / heads.
    `sliding_window` counts the keys a query sees, itself included (transformers' meaning).
    `rms_norm_eps` serves LayerNorm too, and `norm_offset` is added to every stored norm weight
    (Gemma stores w and computes with 1 + w). `sliding_rope` is the rope of sliding layers where it
    differs; `rope_layers` names the layers that rotate at all (empty: all). Scores are multiplied
    by `attention_multiplier`; softcaps are cap * tanh(x / cap). The embedding, what a block adds
    to the residual, and the logits are multiplied by their multipliers. With
    `attention_output_gate`, sigmoid(output_gate(x)) weighs what goes into o_proj. `delta_net` is
    what linear layers compute instead of attention.
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
    sliding_window: int | None
    layer_types: tuple[LayerType, ...]
    dtype: str
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    adapter_path: str
    attention_multiplier: float
    qk_norm: QKNorm = QKNorm.NONE
    norm_type: NormType = NormType.RMS_NORM
    norm_bias: bool = False
    norm_offset: float = 0.0
    norm_placement: NormPlacement = NormPlacement.PRE
    sliding_rope: RopeSpec | None = None
    rope_layers: tuple[bool, ...] = ()
    query_scaling: QueryScaling | None = None
    attn_logit_softcapping: float | None = None
    attention_sinks: bool = False
    attention_output_gate: bool = False
    mlp_type: MlpType = MlpType.GATED
    moe: MoeSpec | None = None
    mla: MlaSpec | None = None
    delta_net: DeltaNetSpec | None = None
    embedding_multiplier: float = 1.0
    residual_multiplier: float = 1.0
    logits_multiplier: float = 1.0
    final_logit_softcapping: float | None = None

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

    @property
    def value_head_dim(self) -> int:
        """Columns of a head of values; those of queries and keys but in latent attention."""
        return self.head_dim if self.mla is None else self.mla.v_head_dim

    @property
    def num_cached_layers(self) -> int:
        """Layers that keep keys and values of every position."""
        return sum(kind is not LayerType.LINEAR for kind in self.layer_types)

    @property
    def is_recurrent(self) -> bool:
        """Whether some of the past is a state that can go on or begin anew, but not back."""
        return LayerType.LINEAR in self.layer_types

    @property
    def state_bytes(self) -> int:
        """What all linear layers remember of one sequence, however long it is."""
        if self.delta_net is None:
            return 0
        num_linear = self.num_hidden_layers - self.num_cached_layers
        return num_linear * self.delta_net.state_bytes

    def is_linear(self, index: int) -> bool:
        """Whether a layer sees the past through a state, which cannot be cut back."""
        return self.layer_types[index] is LayerType.LINEAR

    def cache_index(self, index: int) -> int:
        """The place of a layer that is not linear among those that are not."""
        return sum(not self.is_linear(before) for before in range(index))

    def layer_rope(self, index: int) -> RopeSpec | None:
        """The rotary embedding of a layer; None where positions are not embedded (NoPE)."""
        if self.is_linear(index) or (self.rope_layers and not self.rope_layers[index]):
            return None
        is_sliding = self.layer_types[index] is LayerType.SLIDING
        return self.sliding_rope or self.rope if is_sliding else self.rope

    def layer_window(self, index: int) -> int | None:
        """How many keys a query of a layer sees, itself included; None for all."""
        return self.sliding_window if self.layer_types[index] is LayerType.SLIDING else None

    def is_sparse(self, index: int) -> bool:
        """Whether a layer's MLP is a mixture of experts."""
        return self.moe is not None and self.moe.sparse_layers[index]

    def validate(self) -> ModelSpec:
        """Returns self; raises UnsupportedError naming the field that cannot be."""
        self._check_positive()
        self._check_numbers()
        if self.num_attention_heads % self.num_key_value_heads:
            raise UnsupportedError(
                "num_attention_heads ({num_attention_heads}) is not a multiple of "
                "num_key_value_heads ({num_key_value_heads}).",
                num_attention_heads=self.num_attention_heads,
                num_key_value_heads=self.num_key_value_heads,
            )
        if self.head_dim % 2:
            raise UnsupportedError(
                "head_dim ({head_dim}) is odd; rotary embedding needs pairs.",
                head_dim=self.head_dim,
            )
        if self.hidden_act not in ACTIVATIONS:
            raise UnsupportedError(
                "hidden_act {hidden_act!r} is not implemented.", hidden_act=self.hidden_act
            )
        self._check_layers()
        if self.moe is not None:
            self.moe.validate(self.num_hidden_layers)
        if self.mla is not None:
            self._check_latent(self.mla.validate())
        self._check_linear_layers()
        return self

    def _check_linear_layers(self) -> None:
        if self.delta_net is not None:
            self.delta_net.validate()
        elif LayerType.LINEAR in self.layer_types:
            raise UnsupportedError(
                "layer_types asks for linear_attention, which this model family does not know."
            )

    def _check_latent(self, mla: MlaSpec) -> None:
        if self.head_dim != mla.qk_head_dim or self.num_key_value_heads != self.num_attention_heads:
            raise UnsupportedError(
                "Latent attention needs as many heads of keys as of queries, all of {qk_head_dim} "
                "columns.",
                qk_head_dim=mla.qk_head_dim,
            )
        if self.rope.dim != mla.qk_rope_head_dim:
            raise UnsupportedError(
                "Latent attention rotates qk_rope_head_dim ({qk_rope_head_dim}) columns, not "
                "{dim}.",
                qk_rope_head_dim=mla.qk_rope_head_dim,
                dim=self.rope.dim,
            )

    def _check_layers(self) -> None:
        per_layer = {"layer_types": self.layer_types, "no_rope_layers": self.rope_layers}
        for name, entries in per_layer.items():
            is_given = bool(entries) or name == "layer_types"
            if is_given and len(entries) != self.num_hidden_layers:
                raise UnsupportedError(
                    "{name} names {num_entries} layers, num_hidden_layers is {num_hidden_layers}.",
                    name=name,
                    num_entries=len(entries),
                    num_hidden_layers=self.num_hidden_layers,
                )
        if LayerType.SLIDING in self.layer_types and not self.sliding_window:
            raise UnsupportedError(
                "layer_types asks for sliding_attention, but sliding_window is not set."
            )

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
                raise UnsupportedError(
                    "{name} must be a positive integer, not {value!r}.", name=name, value=value
                )

    def _check_numbers(self) -> None:
        for name in (
            "rms_norm_eps",
            "attention_multiplier",
            "attn_logit_softcapping",
            "final_logit_softcapping",
            "embedding_multiplier",
            "residual_multiplier",
            "logits_multiplier",
        ):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UnsupportedError(
                    "{name} must be a positive number, not {value!r}.", name=name, value=value
                )
