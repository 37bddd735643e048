"""A mixture of experts: how tokens are routed, and what an expert computes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.core.errors import UnsupportedError


class RouterScoring(StrEnum):
    """From the router's logits to the weights of the chosen experts."""

    SOFTMAX = "softmax"  # over all experts, then the best are taken
    SOFTMAX_TOPK = "softmax_topk"  # the best are taken, then over them
    SIGMOID = "sigmoid"  # each by itself


class GroupScoring(StrEnum):
    """By what a group of experts is chosen, where routing is limited to some groups."""

    MAX = "max"  # its best expert (DeepSeek-V2)
    TOP2_SUM = "top2_sum"  # the sum of its two best (DeepSeek-V3)


class ExpertAct(StrEnum):
    """How an expert joins gate and up."""

    GATED = "gated"  # act(gate) * up
    CLAMPED_SWIGLU = "clamped_swiglu"  # gpt-oss: (up + 1) * gate * sigmoid(alpha * gate), clamped


@dataclass(frozen=True, slots=True)
class MoeSpec:
    """Routed experts in the layers of `sparse_layers`, and at most one shared expert beside them.

    Weights: `mlp.router` [num_experts, hidden_size], `mlp.experts.<e>.{gate,up,down}_proj`,
    `mlp.shared_expert.{gate,up,down}_proj`, `mlp.shared_expert_gate` [1, hidden_size], and the
    vector `mlp.router_correction` [num_experts], which is added to the scores for choosing only.
    `num_groups` 1 means that routing is not limited to groups.
    """

    num_experts: int
    num_experts_per_tok: int
    moe_intermediate_size: int
    sparse_layers: tuple[bool, ...]
    scoring: RouterScoring = RouterScoring.SOFTMAX
    norm_topk_prob: bool = False
    routed_scaling_factor: float = 1.0
    num_groups: int = 1
    topk_groups: int = 1
    group_scoring: GroupScoring = GroupScoring.MAX
    router_bias: bool = False
    score_correction_bias: bool = False
    shared_intermediate_size: int = 0
    shared_expert_gate: bool = False
    expert_act: ExpertAct = ExpertAct.GATED
    expert_bias: bool = False
    swiglu_limit: float = 7.0
    swiglu_alpha: float = 1.702

    def validate(self, num_layers: int) -> MoeSpec:
        """Returns self; raises UnsupportedError naming the field that cannot be."""
        if not 0 < self.num_experts_per_tok <= self.num_experts:
            raise UnsupportedError(
                "num_experts_per_tok ({num_experts_per_tok}) must be 1 to num_experts "
                "({num_experts}).",
                num_experts_per_tok=self.num_experts_per_tok,
                num_experts=self.num_experts,
            )
        if self.moe_intermediate_size <= 0 or self.shared_intermediate_size < 0:
            raise UnsupportedError("The sizes of the experts must be positive.")
        if len(self.sparse_layers) != num_layers:
            raise UnsupportedError(
                "{num_found} layers are named sparse or dense, num_hidden_layers is {num_layers}.",
                num_found=len(self.sparse_layers),
                num_layers=num_layers,
            )
        if self.num_groups < 1 or self.num_experts % self.num_groups:
            raise UnsupportedError(
                "n_group ({num_groups}) does not divide num_experts ({num_experts}).",
                num_groups=self.num_groups,
                num_experts=self.num_experts,
            )
        if not 0 < self.topk_groups <= self.num_groups:
            raise UnsupportedError(
                "topk_group must be 1 to {num_groups}.", num_groups=self.num_groups
            )
        return self
