"""The MLP of a layer: dense, or a mixture of experts."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from app.engine.executors.reference.modules import ACTIVATIONS, Linear
from app.spec.moe_spec import ExpertAct, GroupScoring, MoeSpec, RouterScoring

Tensor = torch.Tensor


@dataclass(frozen=True, slots=True)
class Mlp:
    """down(act(gate(x)) * up(x)), or down(act(up(x))) without a gate."""

    gate_proj: Linear | None
    up_proj: Linear
    down_proj: Linear
    hidden_act: str

    def __call__(self, x: Tensor) -> Tensor:
        """[n, hidden_size] -> [n, hidden_size]."""
        act = ACTIVATIONS[self.hidden_act]
        if self.gate_proj is None:
            return self.down_proj(act(self.up_proj(x)))
        return self.down_proj(act(self.gate_proj(x)) * self.up_proj(x))


@dataclass(frozen=True, slots=True)
class ClampedMlp:
    """gpt-oss's expert: down((up + 1) * gate * sigmoid(alpha * gate)), both clamped before."""

    gate_proj: Linear
    up_proj: Linear
    down_proj: Linear
    limit: float
    alpha: float

    def __call__(self, x: Tensor) -> Tensor:
        """[n, hidden_size] -> [n, hidden_size]."""
        gate = self.gate_proj(x).clamp(max=self.limit)
        up = self.up_proj(x).clamp(-self.limit, self.limit)
        return self.down_proj((up + 1) * gate * torch.sigmoid(self.alpha * gate))


@dataclass(frozen=True, slots=True)
class MixtureOfExperts:
    """The chosen experts' outputs, weighted, plus the shared expert's."""

    spec: MoeSpec
    router: Linear
    correction: Tensor | None  # [num_experts]
    experts: list[Mlp | ClampedMlp]
    shared_expert: Mlp | None
    shared_expert_gate: Linear | None

    def __call__(self, x: Tensor) -> Tensor:
        """[n, hidden_size] -> [n, hidden_size]."""
        chosen, weights = self._route(self.router(x))
        total = torch.zeros_like(x)
        for expert in sorted(set(chosen.flatten().tolist())):
            rows, places = torch.where(chosen == expert)
            total[rows] += self.experts[expert](x[rows]) * weights[rows, places, None]
        return total + self._shared(x)

    def _shared(self, x: Tensor) -> Tensor:
        if self.shared_expert is None:
            return torch.zeros_like(x)
        out = self.shared_expert(x)
        if self.shared_expert_gate is not None:
            out = out * torch.sigmoid(self.shared_expert_gate(x))
        return out

    def _route(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """logits [n, num_experts] -> the chosen experts and their weights, both [n, top_k]."""
        spec = self.spec
        scores = _scores(spec.scoring, logits)
        chosen = self._choose(scores)
        weights = scores.gather(1, chosen)
        if spec.scoring is RouterScoring.SOFTMAX_TOPK:
            weights = weights.softmax(dim=-1)
        if spec.norm_topk_prob:
            weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-20)
        return chosen, weights * spec.routed_scaling_factor

    def _choose(self, scores: Tensor) -> Tensor:
        spec = self.spec
        if self.correction is not None:
            scores = scores + self.correction
        if spec.num_groups > 1:
            scores = _limit_to_groups(spec, scores)
        # Of equal scores the lowest index first, in every executor; topk leaves that open.
        order = scores.sort(dim=-1, descending=True, stable=True).indices
        return order[:, : spec.num_experts_per_tok]


def _scores(scoring: RouterScoring, logits: Tensor) -> Tensor:
    match scoring:
        case RouterScoring.SOFTMAX:
            return logits.softmax(dim=-1)
        case RouterScoring.SIGMOID:
            return logits.sigmoid()
        case RouterScoring.SOFTMAX_TOPK:
            return logits


def _limit_to_groups(spec: MoeSpec, scores: Tensor) -> Tensor:
    """Scores outside the best `topk_groups` groups become -inf."""
    grouped = scores.reshape(len(scores), spec.num_groups, -1)
    if spec.group_scoring is GroupScoring.TOP2_SUM:
        of_group = grouped.topk(2, dim=-1).values.sum(dim=-1)
    else:
        of_group = grouped.amax(dim=-1)
    best = of_group.topk(spec.topk_groups, dim=-1).indices
    allowed = torch.zeros_like(of_group, dtype=torch.bool).scatter_(1, best, True)
    return grouped.masked_fill(~allowed[..., None], float("-inf")).reshape(scores.shape)


def create_expert(
    spec: MoeSpec, gate_proj: Linear | None, up_proj: Linear, down_proj: Linear, hidden_act: str
) -> Mlp | ClampedMlp:
    """An expert of the kind that the spec names."""
    if spec.expert_act is ExpertAct.CLAMPED_SWIGLU:
        assert gate_proj is not None
        return ClampedMlp(gate_proj, up_proj, down_proj, spec.swiglu_limit, spec.swiglu_alpha)
    return Mlp(gate_proj, up_proj, down_proj, hidden_act)
