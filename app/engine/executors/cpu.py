"""The executor for machines without a card: native SIMD kernels, one call a step.

Weights stay quantized. Activations are float32, or int8 with one step per 32 columns on request:
about 1.5 times as fast, but a reply may then differ from the reference's. The KV cache is float16
(float32 on request, for comparisons) in pages of 256 positions, allocated when a sequence first
reaches them and kept until `close`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import psutil

from app.checkpoint.reader import Checkpoint
from app.core.errors import EngineError, MissingExtraError
from app.engine.executors.base import Executor, LogitsWanted, MemoryUse, SequenceChunk
from app.engine.executors.cpu_plan import PlannedLinear, check_runnable, native_config, window_of
from app.spec.model_spec import ModelSpec
from kernels.cpu.build import BuildError
from kernels.cpu.loader import Layer, NativeError
from kernels.cpu.native import Context, NativeLinear, NativeModel, pointer

KVDtype = Literal["fp16", "fp32"]
Activations = Literal["fp32", "int8"]
_LINEARS = {
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}


class CpuExecutor(Executor):
    """Runs any native checkpoint of a spec that `check_runnable` accepts.

    `num_threads` None takes every physical core this process may use. Raises UnsupportedError for
    what the kernels cannot run, MissingExtraError when the library is neither built nor buildable.
    """

    name = "cpu"
    kv_element_bytes: ClassVar[int] = 2

    def __init__(
        self,
        checkpoint: Checkpoint,
        spec: ModelSpec,
        max_model_len: int,
        num_slots: int = 1,
        num_threads: int | None = None,
        kv_dtype: KVDtype = "fp16",
        activations: Activations = "fp32",
    ) -> None:
        super().__init__(checkpoint, spec, max_model_len, num_slots)
        check_runnable(spec)
        self.kv_dtype = kv_dtype
        self.activations = activations
        self._context = _create_context(num_threads or default_num_threads())
        self._linears: list[NativeLinear] = []
        self._model: NativeModel | None = None
        try:
            self._model = self._load(checkpoint)
        except NativeError as error:
            self.close()
            raise EngineError(f"The cpu executor cannot load this model: {error}.") from error
        except BaseException:
            self.close()
            raise

    @property
    def instruction_set(self) -> str:
        """The SIMD instruction set that runs, as `kernels.cpu.loader.instruction_sets` names it."""
        return self._context.instruction_set

    def step(self, chunks: Sequence[SequenceChunk]) -> list[npt.NDArray[np.float32]]:
        """All chunks in one native call; see `Executor.step`."""
        self.check_chunks(chunks)
        if self._model is None:
            raise EngineError("The executor is closed.")
        wanted = [_wanted_rows(chunk) for chunk in chunks]
        try:
            logits = self._model.forward(
                np.concatenate([np.asarray(chunk.token_ids, np.int32) for chunk in chunks]),
                np.concatenate([_slot_rows(chunk) for chunk in chunks]),
                np.concatenate([_position_rows(chunk) for chunk in chunks]),
                np.concatenate(wanted),
            )
        except NativeError as error:
            raise EngineError(f"The cpu executor failed: {error}.") from error
        ends = np.cumsum([rows.sum() for rows in wanted])
        return np.split(logits, ends[:-1])

    def memory_use(self) -> MemoryUse:
        """Bytes held now, exactly: packed weights, the cache's pages, activations."""
        if self._model is None:
            return MemoryUse(0, 0, 0)
        weights = sum(linear.num_bytes for linear in self._linears) + self._norm_bytes()
        return MemoryUse(weights, self._model.kv_bytes, self._model.workspace_bytes)

    def close(self) -> None:
        """Frees model, weights and threads; a second call does nothing."""
        if self._model is not None:
            self._model.close()
            self._model = None
        for linear in self._linears:
            linear.close()
        self._linears.clear()
        if self._context.handle:
            self._context.close()

    def _load(self, checkpoint: Checkpoint) -> NativeModel:
        spec = self.spec
        embed_tokens = self._linear(checkpoint, "embed_tokens")
        lm_head = embed_tokens if spec.tie_word_embeddings else self._linear(checkpoint, "lm_head")
        # The library copies what it needs of these; they live until it has.
        norms: list[npt.NDArray[np.float32]] = []
        inv_freq = spec.rope.inverse_frequencies(self.max_model_len)
        layers = [self._layer(checkpoint, index, norms) for index in range(spec.num_hidden_layers)]
        config = native_config(
            spec,
            self.max_model_len,
            self.num_slots,
            inv_freq,
            kv_half=self.kv_dtype == "fp16",
            int8_activations=self.activations == "int8",
        )
        final = _vector(checkpoint, "norm")
        return NativeModel(self._context, config, layers, embed_tokens, final, lm_head)

    def _linear(self, checkpoint: Checkpoint, name: str) -> NativeLinear:
        planned = PlannedLinear(checkpoint.linear(name))
        linear = NativeLinear(self._context, planned.source)
        self._linears.append(linear)
        return linear

    def _layer(
        self, checkpoint: Checkpoint, index: int, norms: list[npt.NDArray[np.float32]]
    ) -> Layer:
        def norm(name: str) -> int | None:
            norms.append(_vector(checkpoint, f"layers.{index}.{name}"))
            return pointer(norms[-1])

        handles = {
            field: self._linear(checkpoint, f"layers.{index}.{name}").handle
            for field, name in _LINEARS.items()
        }
        return Layer(
            **handles,
            input_norm=norm("input_layernorm"),
            post_attention_norm=norm("post_attention_layernorm"),
            q_norm=norm("self_attn.q_norm") if self.spec.qk_norm else None,
            k_norm=norm("self_attn.k_norm") if self.spec.qk_norm else None,
            sliding_window=window_of(self.spec, index),
        )

    def _norm_bytes(self) -> int:
        spec = self.spec
        per_layer = 2 * spec.hidden_size + (2 * spec.head_dim if spec.qk_norm else 0)
        return 4 * (spec.num_hidden_layers * per_layer + spec.hidden_size)


def default_num_threads() -> int:
    """Physical cores this process may use: a second thread on a core only competes for it."""
    physical = psutil.cpu_count(logical=False) or 1
    process = psutil.Process()
    allowed = len(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else physical
    return max(1, min(physical, allowed))


def _create_context(num_threads: int) -> Context:
    try:
        return Context(num_threads)
    except BuildError as error:
        raise MissingExtraError(str(error), detail=error.log) from error
    except (NativeError, OSError) as error:
        raise EngineError(f"The cpu executor cannot start: {error}.") from error


def _vector(checkpoint: Checkpoint, name: str) -> npt.NDArray[np.float32]:
    return np.array(checkpoint.vector(name), dtype=np.float32)


def _slot_rows(chunk: SequenceChunk) -> npt.NDArray[np.int32]:
    return np.full(len(chunk.token_ids), chunk.slot, np.int32)


def _position_rows(chunk: SequenceChunk) -> npt.NDArray[np.int32]:
    return np.arange(chunk.start, chunk.start + len(chunk.token_ids), dtype=np.int32)


def _wanted_rows(chunk: SequenceChunk) -> npt.NDArray[np.uint8]:
    """1 for the rows whose logits are wanted."""
    rows = np.zeros(len(chunk.token_ids), np.uint8)
    if chunk.logits is LogitsWanted.ALL:
        rows[:] = 1
    elif chunk.logits is LogitsWanted.LAST:
        rows[-1] = 1
    return rows
