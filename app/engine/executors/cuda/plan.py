"""The launches of one step: the same list for every token of a batch size and context bucket."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from app.engine.executors.cuda.buffers import DeviceBuffers
from app.engine.executors.cuda.launcher import Buffer, Launch, fill
from app.engine.executors.cuda.matrices import DeviceMatrix
from app.engine.executors.cuda.weights import DeviceLayer, DeviceNorm, DeviceWeights
from app.spec.model_spec import MlpType, ModelSpec, NormType, QKNorm
from kernels.cuda.attention import (
    ATTENTION_ARGS,
    ATTENTION_THREADS,
    ROPE_ARGS,
    ROPE_THREADS,
    AttentionVariant,
    blocks_per_kv_head,
    choose_split_keys,
)
from kernels.cuda.build import ModuleSource
from kernels.cuda.gemv import GEMV_ARGS, MAX_TOKENS, Activation, Epilogue, Input
from kernels.cuda.rows import NORM_ARGS, NORM_THREADS, ROWS_ARGS, ROWS_THREADS

_ACTIVATIONS = {
    "silu": Activation.SILU,
    "gelu": Activation.GELU,
    "gelu_pytorch_tanh": Activation.GELU_TANH,
}
_HALF_BYTES = 2


@dataclass(frozen=True, slots=True)
class StepShape:
    """What a graph is made for: rows of a batch, keys they may look at, and whether logits."""

    num_rows: int
    context: int
    with_logits: bool


class StepPlanner:
    """Writes the launches of a step; every address and size in them is final."""

    def __init__(
        self,
        spec: ModelSpec,
        weights: DeviceWeights,
        buffers: DeviceBuffers,
        num_multiprocessors: int,
    ) -> None:
        self._spec, self._weights, self._buffers = spec, weights, buffers
        self._num_multiprocessors = num_multiprocessors
        self._attention = AttentionVariant(spec.head_dim, buffers.kv.is_int8)

    def plan(self, shape: StepShape) -> list[Launch]:
        """Embedding, all layers and, if wanted, logits of every row."""
        launches = [self._embed(shape.num_rows)]
        for index, layer in enumerate(self._weights.layers):
            launches += self._attend(index, layer, shape)
            launches += self._mlp(layer, shape.num_rows)
        if shape.with_logits:
            launches.append(self._logits(shape.num_rows))
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
        source = ModuleSource("rows.cu", matrix.variant.source.macros)
        return Launch(source, "read_rows", (num_rows,), (ROWS_THREADS,), argument)

    def _attend(self, index: int, layer: DeviceLayer, shape: StepShape) -> Iterator[Launch]:
        buffers, offset = self._buffers, 0
        width = self._spec.q_size + 2 * self._spec.kv_size
        norm = layer.norms.get("input_layernorm")
        for matrix in layer.projections:
            out = Buffer(buffers.qkv.address + offset * _HALF_BYTES, 0)
            yield self._multiply(
                matrix, shape.num_rows, **self._normed(norm), out=out, out_stride=width
            )
            offset += matrix.shape[0]
        yield self._rotate(index, layer, shape.num_rows)
        yield self._mix(index, layer, shape)
        post = layer.norms.get("post_self_attn_layernorm")
        yield from self._add(layer.o_proj, buffers.mixed, post, shape.num_rows)

    def _rotate(self, index: int, layer: DeviceLayer, num_rows: int) -> Launch:
        spec, buffers, rope = self._spec, self._buffers, self._spec.layer_rope(index)
        scaling = spec.query_scaling
        argument = fill(
            ROPE_ARGS,
            qkv=buffers.qkv,
            queries=buffers.queries,
            q_norm=layer.q_norm or 0,
            k_norm=layer.k_norm or 0,
            inv_freq=buffers.inv_freq[rope] if rope else 0,
            slots=buffers.slots,
            positions=buffers.positions,
            cache=buffers.cache(index),
            num_heads=spec.num_attention_heads,
            rotary_dim=rope.dim if rope else 0,
            is_projection_norm=spec.qk_norm is QKNorm.PROJECTION,
            eps=spec.rms_norm_eps,
            cos_sin_factor=rope.cos_sin_factor if rope else 1.0,
            query_scaling_beta=scaling.beta if scaling else 0.0,
            query_scaling_length=scaling.original_max_position_embeddings if scaling else 1.0,
        )
        grid = (num_rows, spec.num_attention_heads + 2 * spec.num_key_value_heads)
        source = self._attention.rope_source
        return Launch(source, "rotate_and_store", grid, (ROPE_THREADS,), argument)

    def _mix(self, index: int, layer: DeviceLayer, shape: StepShape) -> Launch:
        spec, buffers = self._spec, self._buffers
        blocks = spec.num_key_value_heads * blocks_per_kv_head(
            spec.num_attention_heads, spec.num_key_value_heads
        )
        split_keys = choose_split_keys(
            shape.context, blocks * shape.num_rows, self._num_multiprocessors
        )
        argument = fill(
            ATTENTION_ARGS,
            queries=buffers.queries,
            out=buffers.mixed,
            sinks=layer.sinks or 0,
            partial=buffers.partial,
            arrived=buffers.arrived,
            slots=buffers.slots,
            positions=buffers.positions,
            cache=buffers.cache(index),
            num_heads=spec.num_attention_heads,
            window=spec.layer_window(index) or 0,
            split_keys=split_keys,
            max_splits=buffers.max_splits,
            scale=spec.attention_multiplier,
            softcap=spec.attn_logit_softcapping or 0.0,
        )
        grid = (blocks, -(-shape.context // split_keys), shape.num_rows)
        source = self._attention.attention_source
        return Launch(source, "attend", grid, (ATTENTION_THREADS,), argument)

    def _mlp(self, layer: DeviceLayer, num_rows: int) -> Iterator[Launch]:
        buffers, spec = self._buffers, self._spec
        common = self._normed(layer.norms.get("post_attention_layernorm"))
        common |= {"out": buffers.inner, "out_stride": spec.intermediate_size}
        common["activation"] = _ACTIVATIONS[spec.hidden_act]
        if len(layer.mlp_inputs) == 1:
            is_plain = spec.mlp_type is MlpType.PLAIN
            epilogue = Epilogue.ACTIVATE if is_plain else Epilogue.GATE
            yield self._multiply(layer.mlp_inputs[0], num_rows, **common, epilogue=epilogue)
        else:
            up, gate = layer.mlp_inputs
            yield self._multiply(up, num_rows, **{**common, "out": buffers.other})
            common |= {"other": buffers.other, "epilogue": Epilogue.GATE_WITH}
            yield self._multiply(gate, num_rows, **common)
        post = layer.norms.get("post_mlp_layernorm")
        yield from self._add(layer.down_proj, buffers.inner, post, num_rows)

    def _add(
        self, matrix: DeviceMatrix, x: Buffer, norm: DeviceNorm | None, num_rows: int
    ) -> Iterator[Launch]:
        """residual += multiplier * [norm of] the product."""
        buffers, multiplier = self._buffers, self._spec.residual_multiplier
        if norm is None:
            yield self._multiply(
                matrix,
                num_rows,
                x=x,
                out=buffers.hidden,
                epilogue=Epilogue.ADD_TO_RESIDUAL,
                multiplier=multiplier,
            )
            return
        yield self._multiply(
            matrix, num_rows, x=x, out=buffers.branch, epilogue=Epilogue.STORE_FLOAT
        )
        argument = fill(
            NORM_ARGS,
            x=buffers.branch,
            weight=norm.weight,
            bias=norm.bias or 0,
            residual=buffers.hidden,
            size=self._spec.hidden_size,
            is_layer_norm=self._spec.norm_type is NormType.LAYER_NORM,
            eps=self._spec.rms_norm_eps,
            multiplier=multiplier,
        )
        yield Launch(ModuleSource("norm.cu"), "add_norm", (num_rows,), (NORM_THREADS,), argument)

    def _logits(self, num_rows: int) -> Launch:
        buffers = self._buffers
        return self._multiply(
            self._weights.lm_head,
            num_rows,
            **self._normed(self._weights.norm),
            out=buffers.logits,
            epilogue=Epilogue.LOGITS,
            multiplier=self._spec.logits_multiplier,
            softcap=self._spec.final_logit_softcapping or 0.0,
            block_max=buffers.block_max,
            block_argmax=buffers.block_argmax,
        )

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

    def _multiply(self, matrix: DeviceMatrix, num_rows: int, **fields: Any) -> Launch:
        variant = replace(matrix.variant, tokens=1 if num_rows == 1 else MAX_TOKENS)
        chunk_steps = variant.chunk_steps(matrix.fields["num_steps"])
        argument = fill(
            GEMV_ARGS,
            **{
                "num_tokens": num_rows,
                "chunk_steps": chunk_steps,
                "out_stride": matrix.shape[0],
                "multiplier": 1.0,
                **matrix.fields,
                **fields,
            },
        )
        return Launch(
            variant.source,
            "gemv",
            (variant.num_blocks(matrix.shape[0]),),
            (variant.num_threads,),
            argument,
            variant.shared_bytes(chunk_steps),
        )
