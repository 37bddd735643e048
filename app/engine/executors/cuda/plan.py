"""The launches of one step: the same list for every token of a batch size and context bucket."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.engine.executors.cuda.buffers import DeviceBuffers
from app.engine.executors.cuda.delta_plan import DeltaPlanner, DeltaRows
from app.engine.executors.cuda.expert_plan import ExpertPlanner, ExpertTarget
from app.engine.executors.cuda.expert_weights import DeviceExperts
from app.engine.executors.cuda.latent_plan import LatentPlanner, LatentRows
from app.engine.executors.cuda.latent_weights import DeviceLatent
from app.engine.executors.cuda.launcher import Buffer, Launch, fill
from app.engine.executors.cuda.matrices import DeviceMatrix
from app.engine.executors.cuda.mixing import ChunkMixing, Mixing, SplitMixing
from app.engine.executors.cuda.products import MatrixProducts, Products, VectorProducts
from app.engine.executors.cuda.weights import (
    DeviceLayer,
    DeviceMlp,
    DeviceNorm,
    DeviceWeights,
)
from app.spec.model_spec import MlpType, ModelSpec, NormType
from kernels.cuda.build import ModuleSource
from kernels.cuda.gemv import GEMV_ARGS, Activation, Epilogue, Input
from kernels.cuda.rows import NORM_ARGS, NORM_THREADS, ROWS_ARGS, ROWS_THREADS

ACTIVATIONS = {
    "silu": Activation.SILU,
    "gelu": Activation.GELU,
    "gelu_pytorch_tanh": Activation.GELU_TANH,
}
_HALF_BYTES, _FLOAT_BYTES = 2, 4


@dataclass(frozen=True, slots=True)
class StepShape:
    """What a graph is made for: rows of a batch, keys they may look at, and whether logits."""

    num_rows: int
    context: int
    with_logits: bool


class StepPlanner:
    """Writes the launches of a step; every address and size in them is final.

    Steps of few rows and of chunks differ in how matrices are multiplied and attention is mixed.
    """

    def __init__(
        self,
        spec: ModelSpec,
        weights: DeviceWeights,
        buffers: DeviceBuffers,
        products: Products,
        mixing: Mixing,
    ) -> None:
        self._spec, self._weights, self._buffers = spec, weights, buffers
        self._multiply, self._mixing = products.multiply, mixing
        self._experts = None
        if spec.moe is not None and buffers.experts is not None:
            self._experts = ExpertPlanner(spec, spec.moe, buffers.experts)
        self._delta = None
        if spec.delta_net is not None and buffers.delta is not None:
            self._delta = DeltaPlanner(spec, spec.delta_net, buffers.delta, products.multiply)
        self._latent = None
        if spec.mla is not None and buffers.latent is not None:
            self._latent = LatentPlanner(
                spec,
                spec.mla,
                buffers.latent,
                buffers.inv_freq,
                products.multiply,
                buffers.kv.is_int8,
            )

    def plan(self, shape: StepShape) -> list[Launch]:
        """Embedding, all layers and, if wanted, logits of every row."""
        launches = [self._embed(shape.num_rows)]
        for index, layer in enumerate(self._weights.layers):
            launches += self._attend(index, layer, shape)
            launches += self._mlp(layer, shape.num_rows)
        if shape.with_logits:
            launches += self.plan_logits(shape.num_rows)
        return launches

    def _embed(self, num_rows: int) -> Launch:
        matrix = self._weights.embed_tokens
        argument = fill(
            ROWS_ARGS,
            matrix=fill(GEMV_ARGS, **matrix.fields),
            rows=self._buffers.token_ids,
            floats=self._buffers.hidden,
            multiplier=self._spec.embedding_multiplier,
        )
        source = ModuleSource("rows.cu", matrix.variant.layout_macros)
        return Launch(source, "read_rows", (num_rows,), (ROWS_THREADS,), argument)

    def _attend(self, index: int, layer: DeviceLayer, shape: StepShape) -> Iterator[Launch]:
        buffers, num_rows = self._buffers, shape.num_rows
        source = self._normed(layer.norms.get("input_layernorm"))
        if layer.delta is not None:
            assert self._delta is not None
            rows = DeltaRows(buffers.slots, buffers.positions, buffers.mixed, num_rows)
            yield from self._delta.run(index, layer.delta, source, rows)
        elif layer.latent is not None:
            yield from self._attend_latent(index, layer.latent, source, shape)
        else:
            yield from self._project(layer, source, num_rows)
            yield from self._mixing.mix(index, layer, num_rows, shape.context)
        if layer.output_gate is not None:
            yield from self._multiply(
                layer.output_gate,
                num_rows,
                **source,
                out=buffers.mixed,
                other=buffers.mixed,
                epilogue=Epilogue.GATE_WITH,
                activation=Activation.SIGMOID,
            )
        post = layer.norms.get("post_self_attn_layernorm")
        yield from self._add(layer.o_proj, buffers.mixed, post, num_rows)

    def _project(
        self, layer: DeviceLayer, source: dict[str, Any], num_rows: int
    ) -> Iterator[Launch]:
        """Into `qkv`."""
        offset, width = 0, self._spec.q_size + 2 * self._spec.kv_size
        for matrix in layer.projections:
            out = self._buffers.qkv.skip(offset * _HALF_BYTES)
            yield from self._multiply(matrix, num_rows, **source, out=out, out_stride=width)
            offset += matrix.shape[0]

    def _attend_latent(
        self, index: int, latent: DeviceLatent, source: dict[str, Any], shape: StepShape
    ) -> Iterator[Launch]:
        buffers = self._buffers
        assert self._latent is not None
        context = shape.context or buffers.kv.max_model_len
        rows = LatentRows(buffers.slots, buffers.positions, buffers.mixed, shape.num_rows, context)
        yield from self._latent.run(index, latent, source, buffers.cache(index), rows)

    def _mlp(self, layer: DeviceLayer, num_rows: int) -> Iterator[Launch]:
        post = layer.norms.get("post_mlp_layernorm")
        source = self._normed(layer.norms.get("post_attention_layernorm"))
        if layer.experts is not None:
            yield from self._sparse(layer, layer.experts, source, num_rows)
            return
        assert layer.mlp is not None
        yield from self._mlp_inner(layer.mlp, source, num_rows)
        yield from self._add(layer.mlp.down_proj, self._buffers.inner, post, num_rows)

    def _sparse(
        self, layer: DeviceLayer, experts: DeviceExperts, source: dict[str, Any], num_rows: int
    ) -> Iterator[Launch]:
        """The shared expert into `branch`, then all of them to the residual."""
        buffers, post = self._buffers, layer.norms.get("post_mlp_layernorm")
        shared = None
        if layer.mlp is not None:
            shared, down = buffers.branch, layer.mlp.down_proj
            yield from self._mlp_inner(layer.mlp, source, num_rows)
            fields = {"x": buffers.inner, "out": shared, "epilogue": Epilogue.STORE_FLOAT}
            yield from self._multiply(down, num_rows, **fields)
        multiplier = self._spec.residual_multiplier
        target = ExpertTarget(buffers.hidden, True, multiplier, shared)
        if post is not None:
            target = ExpertTarget(buffers.branch, False, 1.0, shared)
        assert self._experts is not None
        activation = ACTIVATIONS[self._spec.hidden_act]
        yield from self._experts.run(experts, num_rows, source, activation, target)
        if post is not None:
            yield self._add_normed(post, num_rows)

    def _mlp_inner(self, mlp: DeviceMlp, source: dict[str, Any], num_rows: int) -> Iterator[Launch]:
        """Into `inner`: what the down projection reads."""
        buffers, spec = self._buffers, self._spec
        common = source | {"out": buffers.inner, "out_stride": mlp.down_proj.shape[1]}
        common["activation"] = ACTIVATIONS[spec.hidden_act]
        if len(mlp.inputs) == 1:
            is_plain = spec.mlp_type is MlpType.PLAIN
            epilogue = Epilogue.ACTIVATE if is_plain else Epilogue.GATE
            yield from self._multiply(mlp.inputs[0], num_rows, **common, epilogue=epilogue)
        else:
            up, gate = mlp.inputs
            yield from self._multiply(up, num_rows, **{**common, "out": buffers.other})
            common |= {"other": buffers.other, "epilogue": Epilogue.GATE_WITH}
            yield from self._multiply(gate, num_rows, **common)

    def _add(
        self, matrix: DeviceMatrix, x: Buffer, norm: DeviceNorm | None, num_rows: int
    ) -> Iterator[Launch]:
        """residual += multiplier * [norm of] the product."""
        buffers, multiplier = self._buffers, self._spec.residual_multiplier
        if norm is None:
            yield from self._multiply(
                matrix,
                num_rows,
                x=x,
                out=buffers.hidden,
                epilogue=Epilogue.ADD_TO_RESIDUAL,
                multiplier=multiplier,
            )
            return
        yield from self._multiply(
            matrix, num_rows, x=x, out=buffers.branch, epilogue=Epilogue.STORE_FLOAT
        )
        yield self._add_normed(norm, num_rows)

    def _add_normed(self, norm: DeviceNorm, num_rows: int) -> Launch:
        """residual += multiplier * norm(branch)."""
        buffers = self._buffers
        argument = fill(
            NORM_ARGS,
            x=buffers.branch,
            weight=norm.weight,
            bias=norm.bias or 0,
            residual=buffers.hidden,
            size=self._spec.hidden_size,
            is_layer_norm=self._spec.norm_type is NormType.LAYER_NORM,
            eps=self._spec.rms_norm_eps,
            multiplier=self._spec.residual_multiplier,
        )
        return Launch(ModuleSource("norm.cu"), "add_norm", (num_rows,), (NORM_THREADS,), argument)

    def plan_logits(self, num_rows: int, first_row: int = 0) -> list[Launch]:
        """Of rows that a step has left in `hidden`."""
        buffers = self._buffers
        source = self._normed(self._weights.norm)
        offset = first_row * self._spec.hidden_size * _FLOAT_BYTES
        source["x"] = Buffer(buffers.hidden.address + offset, buffers.hidden.num_bytes - offset)
        launches = self._multiply(
            self._weights.lm_head,
            num_rows,
            **source,
            out=buffers.logits,
            epilogue=Epilogue.LOGITS,
            multiplier=self._spec.logits_multiplier,
            softcap=self._spec.final_logit_softcapping or 0.0,
            block_max=buffers.block_max,
            block_argmax=buffers.block_argmax,
        )
        return list(launches)

    def _normed(self, norm: DeviceNorm | None) -> dict[str, Any]:
        """The residual as input, normed or (where norms stand after the branch) as it is."""
        if norm is None:
            return {"x": self._buffers.hidden, "input": Input.FLOATS}
        is_layer_norm = self._spec.norm_type is NormType.LAYER_NORM
        return {
            "x": self._buffers.hidden,
            "input": Input.LAYER_NORM if is_layer_norm else Input.RMS_NORM,
            "norm_weight": norm.weight,
            "norm_bias": norm.bias or 0,
            "eps": self._spec.rms_norm_eps,
        }


def create_step_planner(
    spec: ModelSpec, weights: DeviceWeights, buffers: DeviceBuffers, num_multiprocessors: int
) -> StepPlanner:
    """Of steps of one to eight rows, of any sequences."""
    mixing = SplitMixing(spec, buffers, num_multiprocessors)
    return StepPlanner(spec, weights, buffers, VectorProducts(), mixing)


def create_chunk_planner(
    spec: ModelSpec, weights: DeviceWeights, buffers: DeviceBuffers
) -> StepPlanner:
    """Of chunks of one sequence, padded to `padded_tokens`."""
    products = MatrixProducts(buffers.arranged, buffers.sums)
    return StepPlanner(spec, weights, buffers, products, ChunkMixing(spec, buffers))
