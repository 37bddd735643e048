"""One random decoder layer with any variation: in float64 NumPy, and as the library's model."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.schemes import Linear
from app.engine.executors.cpu_weights import PlannedLinear
from kernels import reference
from kernels.cpu.native import Context, NativeLinear, NativeModel, pointer
from kernels.cpu.structures import Config, DeltaNet, Layer, Mla, Mlp, Moe, Norm, Rope
from tests.kernels.delta_sizes import DeltaSizes
from tests.kernels.experts import Experts

HIDDEN, INNER, VOCAB, EPS, COS_SIN_FACTOR = 40, 56, 61, 1e-5, 1.25
# Of 700 positions for either slot; one more is free.
PAGES, FREE_PAGE, NUM_PAGES = ((5, 0, 3), (1, 6, 2)), 4, 7
BIASED = ("q", "k", "v", "o", "gate", "up", "down")
PLACEMENTS = {
    "pre": ("input_norm", "post_attention_norm"),
    "post": ("post_self_attn_norm", "post_mlp_norm"),
    "sandwich": ("input_norm", "post_self_attn_norm", "post_attention_norm", "post_mlp_norm"),
}
ACTS = {"silu": 0, "gelu": 1, "gelu_pytorch_tanh": 2}
Weights = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class LatentSizes:
    """Of multi-head latent attention; `q` 0 projects queries at once."""

    q: int = 28
    kv: int = 36
    nope: int = 10
    rope: int = 6
    value: int = 14

    def shapes(self, num_heads: int) -> dict[str, tuple[int, ...]]:
        """Of the projections that Llama lacks."""
        return {
            "q": (num_heads * (self.nope + self.rope), self.q or HIDDEN),
            "q_a": (max(self.q, 1), HIDDEN),
            "kv_a": (self.kv + self.rope, HIDDEN),
            "kv_b": (num_heads * (self.nope + self.value), self.kv),
            "o": (HIDDEN, num_heads * self.value),
            "q_a_norm": (max(self.q, 1),),
            "kv_a_norm": (self.kv,),
        }


@dataclass
class Decoder:
    """Sizes and variations; weights are random float32. `length` is of the query scaling."""

    num_heads: int = 4
    num_kv_heads: int = 2
    head_dim: int = 16
    rotary_dim: int = 16
    has_rope: bool = True
    sliding_window: int = 0
    qk_norm: str = "none"
    layer_norm: bool = False
    placement: str = "pre"
    act: str = "silu"
    is_gated: bool = True
    has_bias: bool = False
    softcap: float = 0.0
    has_sinks: bool = False
    has_output_gate: bool = False
    beta: float = 0.0
    length: int = 40
    attention_multiplier: float = 0.25
    embedding_multiplier: float = 1.0
    residual_multiplier: float = 1.0
    logits_multiplier: float = 1.0
    final_softcap: float = 0.0
    experts: Experts | None = None
    latent: LatentSizes | None = None
    delta: DeltaSizes | None = None
    weights: Weights = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(3)
        self.weights = {
            name: (rng.standard_normal(shape) * 0.3).astype(np.float32)
            for name, shape in self._shapes().items()
        }
        if self.delta:
            self.weights["decay"] = np.exp(self.weights["decay"])  # as A_log gives it: positive
        self.inv_freq = (0.5 ** np.arange(self.rotary_dim // 2)).astype(np.float32)

    @property
    def norms(self) -> tuple[str, ...]:
        """The norms around the blocks."""
        return PLACEMENTS[self.placement]

    @property
    def attention_linears(self) -> tuple[str, ...]:
        """By their names in the library."""
        if self.delta:
            return self.delta.linears
        if self.latent is None:
            return ("q", "k", "v", "o")
        return ("q", "q_a", "kv_a", "kv_b", "o") if self.latent.q else ("q", "kv_a", "kv_b", "o")

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        q_size, kv_size = self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {
            **{"q": (q_size, HIDDEN), "k": (kv_size, HIDDEN), "v": (kv_size, HIDDEN)},
            **{"o": (HIDDEN, q_size), "gate": (INNER, HIDDEN), "up": (INNER, HIDDEN)},
            **{"down": (HIDDEN, INNER), "embed": (VOCAB, HIDDEN), "head": (VOCAB, HIDDEN)},
            **{"output_gate": (q_size, HIDDEN), "sinks": (self.num_heads,)},
        }
        whole = self.qk_norm == "projection"
        shapes |= {
            "q_norm": (q_size if whole else self.head_dim,),
            "k_norm": (kv_size if whole else self.head_dim,),
        }
        for name in ("norm", *PLACEMENTS["sandwich"]):
            shapes |= {name: (HIDDEN,), f"{name}_bias": (HIDDEN,)}
        shapes |= {f"{name}_bias": shapes[name][:1] for name in BIASED}
        shapes |= self.latent.shapes(self.num_heads) if self.latent else {}
        shapes |= self.delta.shapes(HIDDEN) if self.delta else {}
        return shapes | (self.experts.shapes(HIDDEN) if self.experts else {})

    def logits(self, token_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """All positions at once, float64 [n, VOCAB]."""
        w = {name: array.astype(np.float64) for name, array in self.weights.items()}
        hidden = w["embed"][token_ids] * self.embedding_multiplier
        normed = self._norm(hidden, w, "input_norm")
        mixed = self.delta.run(normed, w, EPS) if self.delta else self._attention(normed, w)
        mixed = self._norm(mixed, w, "post_self_attn_norm")
        hidden = hidden + mixed * self.residual_multiplier
        inner = self._mlp(self._norm(hidden, w, "post_attention_norm"), w)
        hidden = hidden + self._norm(inner, w, "post_mlp_norm") * self.residual_multiplier
        normed = self._norm(hidden, w, "norm")
        logits = reference.linear(normed, w["head"]) * self.logits_multiplier
        return np.asarray(reference.softcap(logits, self.final_softcap))

    def _norm(self, x: Any, w: Weights, name: str) -> Any:
        if name not in ("norm", *self.norms):
            return x
        if self.layer_norm:
            bias = w[f"{name}_bias"] if self.has_bias else None
            return reference.layer_norm(x, w[name], bias, EPS)
        return reference.rms_norm(x, w[name], EPS)

    def _linear(self, x: Any, w: Weights, name: str) -> Any:
        return reference.linear(x, w[name], w[f"{name}_bias"] if self.has_bias else None)

    def _attention(self, x: Any, w: Weights) -> Any:
        positions = np.arange(len(x))
        if self.latent:
            q, k, v = self._latent_heads(self.latent, x, w)
        else:
            q, k, v = (self._heads(x, w, name) for name in "qkv")
        if self.has_rope:
            q, k = (self._rotated(heads, positions) for heads in (q, k))
        q = q * (1 + self.beta * np.log(1 + positions // self.length))[:, None, None]
        sinks = w["sinks"] if self.has_sinks else None
        scale, window = self.attention_multiplier, self.sliding_window
        mixed = reference.attention(q, k, v, positions, window, scale, self.softcap, sinks)
        mixed = mixed.reshape(len(x), -1)
        if self.has_output_gate:
            mixed = mixed * reference.sigmoid(reference.linear(x, w["output_gate"]))
        return self._linear(mixed, w, "o")

    def _rotated(self, heads: Any, positions: Any) -> Any:
        first = self.latent.nope if self.latent else 0
        rotated = reference.rope(heads[..., first:], positions, self.inv_freq, COS_SIN_FACTOR)
        return np.concatenate([heads[..., :first], rotated], axis=-1)

    def _latent_heads(self, sizes: LatentSizes, x: Any, w: Weights) -> Any:
        """q, k [n, heads, nope + rope] and v [n, heads, value]."""
        n, queries = len(x), x
        if sizes.q:
            queries = reference.rms_norm(reference.linear(x, w["q_a"]), w["q_a_norm"], EPS)
        q = reference.linear(queries, w["q"]).reshape(n, self.num_heads, -1)
        latent = reference.linear(x, w["kv_a"])
        normed = reference.rms_norm(latent[:, : sizes.kv], w["kv_a_norm"], EPS)
        expanded = reference.linear(normed, w["kv_b"]).reshape(n, self.num_heads, -1)
        shared = np.repeat(latent[:, None, sizes.kv :], self.num_heads, axis=1)
        k = np.concatenate([expanded[..., : sizes.nope], shared], axis=-1)
        return q, k, expanded[..., sizes.nope :]

    def _heads(self, x: Any, w: Weights, name: str) -> Any:
        """[n, heads, head_dim] of q, k or v, normed."""
        y, norm = self._linear(x, w, name), w.get(f"{name}_norm")
        if norm is not None and self.qk_norm == "projection":
            y = reference.rms_norm(y, norm, EPS)
        y = y.reshape(len(x), -1, self.head_dim)
        return (
            reference.rms_norm(y, norm, EPS) if norm is not None and self.qk_norm == "head" else y
        )

    def _mlp(self, x: Any, w: Weights) -> Any:
        if self.experts:
            return self.experts.run(x, w, self.act)
        up = self._linear(x, w, "up")
        if self.is_gated:
            inner = reference.activation(self.act, self._linear(x, w, "gate")) * up
        else:
            inner = reference.activation(self.act, up)
        return self._linear(inner, w, "down")


def _mla(sizes: LatentSizes) -> Mla:
    return Mla(sizes.kv, sizes.q, sizes.nope, sizes.rope, sizes.value, EPS)


class Native:
    """The library's model of a `Decoder`."""

    def __init__(self, decoder: Decoder, instruction_set: str, kv_type: int = 0) -> None:
        self.context = Context(2, instruction_set)
        self._decoder, w = decoder, decoder.weights
        self.linears = {name: self._linear(name) for name, array in w.items() if array.ndim == 2}
        config = self._config(kv_type)
        self.model = NativeModel(
            self.context,
            config,
            [self._layer()],
            self.linears["embed"],
            self._norm("norm"),
            self.linears["head"],
        )
        for slot, row in enumerate(PAGES):
            self.model.map_pages(slot, row)

    def _linear(self, name: str) -> NativeLinear:
        w = self._decoder.weights
        has_bias = self._decoder.has_bias and name in BIASED
        bias = w.get(f"{name}_bias") if has_bias or name.startswith("expert") else None
        planned = PlannedLinear(Linear(w[name].shape, weight=w[name], bias=bias))
        return NativeLinear(self.context, planned.source)

    def _config(self, kv_type: int) -> Config:
        d = self._decoder
        self._ropes = (Rope * 2)(
            Rope(2, 1.0, pointer(d.inv_freq)),  # another one, which is not the layer's
            Rope(d.rotary_dim, COS_SIN_FACTOR, pointer(d.inv_freq)),
        )
        return Config(
            hidden_size=HIDDEN,
            intermediate_size=INNER,
            num_layers=1,
            num_heads=d.num_heads,
            num_kv_heads=d.num_kv_heads,
            head_dim=d.head_dim,
            vocab_size=VOCAB,
            max_model_len=700,
            num_slots=2,
            num_pages=NUM_PAGES,
            kv_type=kv_type,
            layer_norm=d.layer_norm,
            qk_norm_projection=d.qk_norm == "projection",
            hidden_act=ACTS[d.act],
            rms_norm_eps=EPS,
            attention_multiplier=d.attention_multiplier,
            attn_logit_softcapping=d.softcap,
            query_scaling_beta=d.beta,
            query_scaling_length=d.length,
            embedding_multiplier=d.embedding_multiplier,
            residual_multiplier=d.residual_multiplier,
            logits_multiplier=d.logits_multiplier,
            final_logit_softcapping=d.final_softcap,
            num_ropes=2,
            ropes=ctypes.addressof(self._ropes),
            moe=d.experts.config() if d.experts else Moe(),
            mla=_mla(d.latent) if d.latent else Mla(),
            delta_net=d.delta.config() if d.delta else DeltaNet(),
        )

    def _layer(self) -> Layer:
        d, w = self._decoder, self._decoder.weights
        layer = Layer(
            **{name: self.linears[name].handle for name in d.attention_linears},
            sliding_window=d.sliding_window,
            rope=1 if d.has_rope else -1,
            **{name: self._norm(name) for name in d.norms},
        )
        if d.has_output_gate:
            layer.output_gate = self.linears["output_gate"].handle
        if d.qk_norm != "none":
            layer.q_norm, layer.k_norm = pointer(w["q_norm"]), pointer(w["k_norm"])
        if d.delta:
            for name in d.delta.vectors:
                setattr(layer, name, pointer(w[name]))
        if d.latent:
            layer.q_a_norm, layer.kv_a_norm = pointer(w["q_a_norm"]), pointer(w["kv_a_norm"])
        if d.has_sinks:
            layer.sinks = pointer(w["sinks"])
        if d.experts:
            self._fill_moe(layer, d.experts)
        else:
            layer.mlp = self._mlp("")
            layer.mlp.gate = layer.mlp.gate if d.is_gated else None
        return layer

    def _fill_moe(self, layer: Layer, experts: Experts) -> None:
        self._experts = (Mlp * experts.num_experts)(
            *(self._mlp(f"expert{index}.") for index in range(experts.num_experts))
        )
        layer.router = self.linears["router"].handle
        layer.experts = ctypes.addressof(self._experts)
        if experts.has_correction:
            layer.router_correction = pointer(self._decoder.weights["correction"])
        if experts.shared_size:
            layer.shared_expert = self._mlp("shared.")
        if experts.has_shared_gate:
            layer.shared_expert_gate = self.linears["shared_gate"].handle

    def _mlp(self, prefix: str) -> Mlp:
        return Mlp(*(self.linears[f"{prefix}{name}"].handle for name in ("gate", "up", "down")))

    def _norm(self, name: str) -> Norm:
        d = self._decoder
        has_bias = d.layer_norm and d.has_bias
        return Norm(
            pointer(d.weights[name]), pointer(d.weights[f"{name}_bias"]) if has_bias else None
        )

    def run(
        self, token_ids: npt.NDArray[np.int32], start: int = 0, slot: int = 0
    ) -> npt.NDArray[np.float32]:
        """Logits of every token [n, VOCAB]."""
        n = len(token_ids)
        positions = np.arange(start, start + n, dtype=np.int32)
        slots, wanted = np.full(n, slot, np.int32), np.ones(n, np.uint8)
        return self.model.forward(token_ids, slots, positions, wanted)

    def close(self) -> None:
        """Model, linears, threads."""
        self.model.close()
        for linear in self.linears.values():
            linear.close()
        self.context.close()
