"""The launches of a mixture of experts: a chosen expert is read once for eight rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from app.engine.executors.cuda.expert_weights import DeviceExperts
from app.engine.executors.cuda.launcher import Allocator, Buffer, Launch, fill
from app.engine.executors.cuda.products import product_argument
from app.engine.executors.cuda.stacks import DeviceStack
from app.spec.model_spec import MlpType, ModelSpec
from app.spec.moe_spec import ExpertAct, GroupScoring, MoeSpec, RouterScoring
from kernels.cuda.build import ModuleSource
from kernels.cuda.experts import (
    EXPERT_SUM_ARGS,
    MAX_EXPERTS,
    ROUTER_ARGS,
    ROUTER_ROWS,
    ROUTER_THREADS,
    SUM_THREADS,
    choice_shared_bytes,
    max_visits,
    score_shared_bytes,
)
from kernels.cuda.gemv import MAX_TOKENS, Activation, Epilogue

_SCORINGS = {RouterScoring.SOFTMAX: 0, RouterScoring.SOFTMAX_TOPK: 1, RouterScoring.SIGMOID: 2}
_GROUP_SCORINGS = {GroupScoring.MAX: 0, GroupScoring.TOP2_SUM: 1}
_HALF_BYTES, _FLOAT_BYTES, _INT_BYTES = 2, 4, 4


class ExpertBuffers:
    """What the experts of `num_rows` rows work in."""

    def __init__(self, allocator: Allocator, hidden_size: int, moe: MoeSpec, num_rows: int) -> None:
        pairs = num_rows * moe.num_experts_per_tok
        visits = max_visits(num_rows, moe.num_experts_per_tok, moe.num_experts)
        inner = pairs * moe.moe_intermediate_size * _HALF_BYTES
        self.logits = allocator.allocate(num_rows * (moe.num_experts + 1) * _FLOAT_BYTES)
        self.chosen = allocator.allocate(pairs * _INT_BYTES)
        self.visit_matrices = allocator.allocate(visits * _INT_BYTES)
        self.visit_pairs = allocator.allocate(visits * MAX_TOKENS * _INT_BYTES)
        self.pair_weights = allocator.allocate(pairs * _FLOAT_BYTES)
        self.shared_weights = allocator.allocate(num_rows * _FLOAT_BYTES)
        self.inner = allocator.allocate(inner)
        self.other = allocator.allocate(inner)
        self.outputs = allocator.allocate(pairs * hidden_size * _FLOAT_BYTES)


@dataclass(frozen=True, slots=True)
class ExpertTarget:
    """Where the sum goes, float [rows, hidden_size]: added to what is there, or stored.

    `shared`, the shared expert's output, likewise takes part; it may be `out`.
    """

    out: Buffer
    is_added: bool
    multiplier: float
    shared: Buffer | None


class ExpertPlanner:
    """Writes the launches of a sparse layer's routed experts."""

    def __init__(self, spec: ModelSpec, moe: MoeSpec, buffers: ExpertBuffers) -> None:
        self._spec, self._moe, self._buffers = spec, moe, buffers
        is_clamped = moe.expert_act is ExpertAct.CLAMPED_SWIGLU
        self._activation = Activation.CLAMPED_SWIGLU if is_clamped else None

    def run(
        self,
        experts: DeviceExperts,
        num_rows: int,
        source: dict[str, Any],
        activation: Activation,
        target: ExpertTarget,
    ) -> Iterator[Launch]:
        """`source`: the fields of GemvArgs by which products read the residual."""
        yield from self._route(experts, num_rows, source)
        yield from self._multiply_inputs(experts, num_rows, source, activation)
        yield from self._multiply(
            experts.down_proj,
            num_rows,
            x=self._buffers.inner,
            pairs_per_row=1,
            out=self._buffers.outputs,
            epilogue=Epilogue.STORE_FLOAT,
        )
        yield self._sum(num_rows, target)

    def _route(
        self, experts: DeviceExperts, num_rows: int, source: dict[str, Any]
    ) -> Iterator[Launch]:
        moe, buffers, router = self._moe, self._buffers, experts.router
        argument = fill(
            ROUTER_ARGS,
            x=source["x"],
            norm_weight=source.get("norm_weight", 0),
            norm_bias=source.get("norm_bias", 0),
            weight=router.weight,
            bias=router.bias or 0,
            correction=router.correction or 0,
            logits=buffers.logits,
            visit_matrices=buffers.visit_matrices,
            visit_pairs=buffers.visit_pairs,
            chosen=buffers.chosen,
            pair_weights=buffers.pair_weights,
            shared_weights=buffers.shared_weights,
            num_tokens=num_rows,
            hidden_size=self._spec.hidden_size,
            num_experts=moe.num_experts,
            has_shared_gate=moe.shared_expert_gate,
            top_k=moe.num_experts_per_tok,
            max_visits=self._num_visits(num_rows),
            input=source["input"],
            weight_type=router.weight_type,
            scoring=_SCORINGS[moe.scoring],
            is_normed=moe.norm_topk_prob,
            num_groups=moe.num_groups,
            topk_groups=moe.topk_groups,
            group_scoring=_GROUP_SCORINGS[moe.group_scoring],
            eps=source.get("eps", 0.0),
            scaling_factor=moe.routed_scaling_factor,
        )
        router_source, threads = ModuleSource("router.cu"), (ROUTER_THREADS,)
        blocks = -(-(moe.num_experts + moe.shared_expert_gate) // ROUTER_ROWS)
        token_bytes = score_shared_bytes(self._spec.hidden_size)
        grid = (blocks, num_rows)
        yield Launch(router_source, "score_experts", grid, threads, argument, token_bytes)
        choice_bytes, choices = choice_shared_bytes(moe.num_experts), (-(-num_rows // MAX_TOKENS),)
        if num_rows <= MAX_TOKENS:
            yield Launch(router_source, "choose_experts", choices, threads, argument, choice_bytes)
            return
        yield Launch(router_source, "choose_for_chunk", choices, threads, argument, choice_bytes)
        yield Launch(router_source, "list_chunk_visits", (1,), (MAX_EXPERTS,), argument)

    def _multiply_inputs(
        self,
        experts: DeviceExperts,
        num_rows: int,
        source: dict[str, Any],
        activation: Activation,
    ) -> Iterator[Launch]:
        """Into `inner`: what the experts' down projections read."""
        moe, buffers = self._moe, self._buffers
        common = source | {
            "pairs_per_row": moe.num_experts_per_tok,
            "out": buffers.inner,
            "out_stride": moe.moe_intermediate_size,
            "activation": activation if self._activation is None else self._activation,
            "swiglu_limit": moe.swiglu_limit,
            "swiglu_alpha": moe.swiglu_alpha,
        }
        if len(experts.inputs) == 1:
            is_plain = self._spec.mlp_type is MlpType.PLAIN
            common["epilogue"] = Epilogue.ACTIVATE if is_plain else Epilogue.GATE
            yield from self._multiply(experts.inputs[0], num_rows, **common)
            return
        up, gate = experts.inputs
        yield from self._multiply(up, num_rows, **{**common, "out": buffers.other})
        common |= {"other": buffers.other, "epilogue": Epilogue.GATE_WITH}
        yield from self._multiply(gate, num_rows, **common)

    def _multiply(
        self, stacks: list[DeviceStack], num_rows: int, **fields: Any
    ) -> Iterator[Launch]:
        visits = {
            "visit_matrices": self._buffers.visit_matrices,
            "visit_pairs": self._buffers.visit_pairs,
        }
        for stack in stacks:
            yield multiply_stack(stack, num_rows, self._num_visits(num_rows), **visits, **fields)

    def _sum(self, num_rows: int, target: ExpertTarget) -> Launch:
        size, buffers = self._spec.hidden_size, self._buffers
        argument = fill(
            EXPERT_SUM_ARGS,
            outputs=buffers.outputs,
            weights=buffers.pair_weights,
            shared=target.shared or 0,
            shared_weights=buffers.shared_weights,
            out=target.out,
            size=size,
            top_k=self._moe.num_experts_per_tok,
            is_added=target.is_added,
            multiplier=target.multiplier,
        )
        grid = (-(-size // SUM_THREADS), num_rows)
        return Launch(ModuleSource("experts.cu"), "add_experts", grid, (SUM_THREADS,), argument)

    def _num_visits(self, num_rows: int) -> int:
        return max_visits(num_rows, self._moe.num_experts_per_tok, self._moe.num_experts)


def multiply_stack(stack: DeviceStack, num_rows: int, num_visits: int, **fields: Any) -> Launch:
    """One launch for all visits that find their matrix in this stack."""
    matrix = stack.matrix
    variant = replace(matrix.variant, tokens=1 if num_rows == 1 else MAX_TOKENS)
    chunk_steps = variant.chunk_steps(matrix.fields["num_steps"])
    argument = product_argument(
        matrix, num_rows, chunk_steps=chunk_steps, matrix_places=stack.places or 0, **fields
    )
    grid = (variant.num_blocks(matrix.shape[0]), num_visits)
    threads, shared_bytes = (variant.num_threads,), variant.shared_bytes(chunk_steps)
    return Launch(variant.source, "gemv", grid, threads, argument, shared_bytes)
