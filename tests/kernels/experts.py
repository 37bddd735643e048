"""A mixture of experts in float64 NumPy, one row after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels import reference
from kernels.cpu.structures import Moe

SCORINGS = {"softmax": 0, "softmax_topk": 1, "sigmoid": 2}
GROUP_SCORINGS = {"max": 0, "top2_sum": 1}


@dataclass(frozen=True)
class Experts:
    """Sizes and routing of a sparse layer."""

    num_experts: int = 8
    num_experts_per_tok: int = 2
    size: int = 24
    scoring: str = "softmax"
    norm_topk_prob: bool = False
    routed_scaling_factor: float = 1.0
    num_groups: int = 1
    topk_groups: int = 1
    group_scoring: str = "max"
    has_correction: bool = False
    shared_size: int = 0
    has_shared_gate: bool = False
    is_clamped: bool = False
    limit: float = 0.5
    alpha: float = 1.702

    def shapes(self, hidden: int) -> dict[str, tuple[int, ...]]:
        """Of the router, the experts with their biases, and the shared expert."""
        sizes = {f"expert{index}.": self.size for index in range(self.num_experts)}
        shapes: dict[str, tuple[int, ...]] = {
            "router": (self.num_experts, hidden),
            "correction": (self.num_experts,),
            "shared_gate": (1, hidden),
        }
        for prefix, size in (sizes | {"shared.": max(self.shared_size, 1)}).items():
            shapes |= {f"{prefix}gate": (size, hidden), f"{prefix}up": (size, hidden)}
            shapes |= {f"{prefix}down": (hidden, size)}
            shapes |= {f"{prefix}gate_bias": (size,), f"{prefix}up_bias": (size,)}
            shapes |= {f"{prefix}down_bias": (hidden,)}
        return shapes

    def config(self) -> Moe:
        """The library's description."""
        return Moe(
            num_experts=self.num_experts,
            num_experts_per_tok=self.num_experts_per_tok,
            intermediate_size=self.size,
            shared_intermediate_size=self.shared_size,
            scoring=SCORINGS[self.scoring],
            norm_topk_prob=self.norm_topk_prob,
            routed_scaling_factor=self.routed_scaling_factor,
            num_groups=self.num_groups,
            topk_groups=self.topk_groups,
            group_scoring=GROUP_SCORINGS[self.group_scoring],
            clamped_swiglu=self.is_clamped,
            swiglu_limit=self.limit,
            swiglu_alpha=self.alpha,
        )

    def run(self, x: Any, w: dict[str, Any], act: str) -> Any:
        """x [n, hidden] -> [n, hidden]."""
        out = np.stack([self._run_row(row, w, act) for row in x])
        if self.shared_size:
            shared = _mlp(x, w, "shared.", lambda gate, up: reference.activation(act, gate) * up)
            gate = reference.linear(x, w["shared_gate"]) if self.has_shared_gate else None
            out = out + (shared if gate is None else shared * reference.sigmoid(gate))
        return out

    def _run_row(self, row: Any, w: dict[str, Any], act: str) -> Any:
        def join(gate: Any, up: Any) -> Any:
            if not self.is_clamped:
                return reference.activation(act, gate) * up
            gate, up = np.minimum(gate, self.limit), np.clip(up, -self.limit, self.limit)
            return (up + 1) * gate * reference.sigmoid(self.alpha * gate)

        weights = self._weights(row @ w["router"].T, w["correction"])
        return sum(
            weight * _mlp(row, w, f"expert{expert}.", join) for expert, weight in weights.items()
        )

    def _weights(self, logits: Any, correction: Any) -> dict[int, float]:
        """The chosen experts and their weights."""
        scores = {
            "softmax": _softmax(logits),
            "softmax_topk": logits,
            "sigmoid": reference.sigmoid(logits),
        }[self.scoring]
        choice = self._limited(scores + correction if self.has_correction else scores)
        chosen = np.argsort(-choice)[: self.num_experts_per_tok]
        weights = scores[chosen]
        if self.scoring == "softmax_topk":
            weights = _softmax(weights)
        if self.norm_topk_prob:
            weights = weights / weights.sum()
        return dict(zip(chosen.tolist(), weights * self.routed_scaling_factor, strict=True))

    def _limited(self, choice: Any) -> Any:
        groups = np.sort(choice.reshape(self.num_groups, -1), axis=1)
        best = groups[:, -2:].sum(axis=1) if self.group_scoring == "top2_sum" else groups[:, -1]
        allowed = np.argsort(-best)[: self.topk_groups]
        group_of = np.arange(self.num_experts) // (self.num_experts // self.num_groups)
        return np.where(np.isin(group_of, allowed), choice, -np.inf)


def _mlp(x: Any, w: dict[str, Any], prefix: str, join: Any) -> Any:
    has_bias = prefix != "shared."
    gate, up = (
        reference.linear(x, w[f"{prefix}{name}"], w[f"{prefix}{name}_bias"] if has_bias else None)
        for name in ("gate", "up")
    )
    bias = w[f"{prefix}down_bias"] if has_bias else None
    return reference.linear(join(gate, up), w[f"{prefix}down"], bias)


def _softmax(x: Any) -> Any:
    weights = np.exp(x - x.max())
    return weights / weights.sum()
