"""The executor for machines without a card: native SIMD kernels, one call a step.

Weights stay quantized. Quantized ones are multiplied with float32 activations, or with int8 ones of
one step per 32 columns: about 1.5 times as fast, but a reply may then differ from the reference's.
The KV cache is float16 (int8 or float32 on request); its pages are allocated when a sequence first
reaches them, and kept until `close`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import psutil

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import QuantScheme
from app.core.cleanup import undone_on_failure
from app.core.device import KV_DTYPES
from app.core.errors import EngineError, MissingExtraError, OutOfMemoryError
from app.engine.executors.base import Executor, LogitsWanted, MemoryUse, SequenceChunk
from app.engine.executors.cpu_plan import (
    RopePlan,
    check_runnable,
    native_config,
    native_sampling,
)
from app.engine.executors.cpu_tiles import saved_bytes
from app.engine.executors.cpu_weights import NativeWeights
from app.engine.executors.cpu_workspace import MAX_PASS_TOKENS
from app.engine.sampling import Sampler
from app.spec.model_spec import ModelSpec
from kernels.cpu.build import BuildError
from kernels.cpu.loader import NativeError, NativeMemoryError
from kernels.cpu.native import Context, NativeModel, sample
from kernels.cpu.structures import Sampling

# Rows of one sequence give each the bits that it has alone, and eight take two to three times the
# time of one.
_MAX_DRAFT_TOKENS = 7

_Result = TypeVar("_Result")
_Ints = npt.NDArray[np.int32]
_Rows = tuple[_Ints, _Ints, _Ints]


class CpuExecutor(Executor):
    """Runs any native checkpoint of a spec that `check_runnable` accepts.

    `num_threads` None takes every physical core this process may use. Raises UnsupportedError for
    what the kernels cannot run, MissingExtraError when the library is neither built nor buildable.
    """

    name = "cpu"
    kv_dtypes: ClassVar[tuple[str, ...]] = KV_DTYPES
    max_pass_tokens: ClassVar[int | None] = MAX_PASS_TOKENS

    def __init__(
        self,
        checkpoint: Checkpoint,
        spec: ModelSpec,
        max_model_len: int,
        num_slots: int = 1,
        num_pages: int | None = None,
        num_threads: int | None = None,
        kv_dtype: str = "fp16",
        activations: str = "fp32",
    ) -> None:
        super().__init__(checkpoint, spec, max_model_len, num_slots, num_pages)
        check_runnable(spec)
        self.kv_dtype = kv_dtype
        self.activations = activations
        self.max_draft_tokens = 0 if spec.is_recurrent else _MAX_DRAFT_TOKENS
        self._context = _create_context(num_threads or default_num_threads())
        self._weights = NativeWeights(self._context, spec, six_bits=activations == "int8")
        self._model: NativeModel | None = None
        with undone_on_failure(self.close):
            try:
                with _translated_shortage():
                    self._model = self._load(checkpoint)
            except NativeError as error:
                raise EngineError(
                    "The cpu executor cannot load this model: {error}.", error=error
                ) from error

    @classmethod
    def saved_bytes(
        cls, shape: tuple[int, int], quant: QuantScheme | None, source_type: str, activations: str
    ) -> int:
        """Six bits instead of eight, with int8 activations."""
        return saved_bytes(shape, quant, source_type) if activations == "int8" else 0

    @property
    def instruction_set(self) -> str:
        """The SIMD instruction set that runs, as `kernels.cpu.loader.instruction_sets` names it."""
        return self._context.instruction_set

    def step(self, chunks: Sequence[SequenceChunk]) -> list[npt.NDArray[np.float32]]:
        """All chunks in one native call; see `Executor.step`."""
        wanted = [_wanted_rows(chunk) for chunk in chunks]
        logits = self._run(chunks, lambda model, rows: model.forward(*rows, np.concatenate(wanted)))
        ends = np.cumsum([rows.sum() for rows in wanted])
        return np.split(logits, ends[:-1])

    def sample(
        self, chunks: Sequence[SequenceChunk], samplers: Sequence[Sampler | None]
    ) -> list[int | None]:
        """All chunks and their tokens in one native call; see `Executor.sample`."""
        if any(sampler is not None and sampler.needs_logits for sampler in samplers):
            return super().sample(chunks, samplers)
        samplings: list[Sampling | None] = []
        for chunk, sampler in zip(chunks, samplers, strict=True):
            samplings += [None] * (len(chunk.token_ids) - 1)
            samplings.append(None if sampler is None else native_sampling(sampler))
        sampled = self._run(chunks, lambda model, rows: model.sample(*rows, samplings))
        last_rows = np.cumsum([len(chunk.token_ids) for chunk in chunks]) - 1
        pairs = zip(samplers, sampled[last_rows].tolist(), strict=True)
        return [
            None if sampler is None else sampler.record(token_id) for sampler, token_id in pairs
        ]

    def _draw(self, sampler: Sampler, logits: npt.NDArray[np.float32]) -> int:
        """The native sampler, behind what only Python knows: a mask, biases, the least length."""
        return sampler.sample(
            logits, lambda restricted: sample(restricted.copy(), native_sampling(sampler))
        )

    def _run(
        self, chunks: Sequence[SequenceChunk], call: Callable[[NativeModel, _Rows], _Result]
    ) -> _Result:
        """`call` with the model and (token ids, slots, positions) of all tokens."""
        self.check_chunks(chunks)
        model = self._open_model()
        for slot in self._tables.take_changed():
            model.map_pages(slot, self._tables.row(slot))
        token_ids = np.concatenate([np.asarray(chunk.token_ids, np.int32) for chunk in chunks])
        slots = np.concatenate([_slot_rows(chunk) for chunk in chunks])
        positions = np.concatenate([_position_rows(chunk) for chunk in chunks])
        try:
            with _translated_shortage():
                result = call(model, (token_ids, slots, positions))
        except NativeError as error:
            raise EngineError("The cpu executor failed: {error}.", error=error) from error
        self.record_chunks(chunks)
        return result

    def memory_use(self) -> MemoryUse:
        """Bytes held now, exactly: packed weights, the cache's pages, activations."""
        if self._model is None:
            return MemoryUse(0, 0, 0)
        model = self._model
        return MemoryUse(self._weights.num_bytes, model.kv_bytes, model.workspace_bytes)

    @property
    def page_bytes(self) -> int:
        """All layers, with what pads rows to whole vectors."""
        return self._open_model().page_bytes

    @property
    def state_bytes(self) -> int:
        """All linear layers, with what pads rows to whole vectors."""
        return self._open_model().state_bytes

    def _copy_page(self, source: int, target: int) -> None:
        with _translated_shortage():
            self._open_model().copy_page(source, target)

    def _read_page(self, page: int) -> npt.NDArray[np.uint8]:
        return self._open_model().read_page(page)

    def _write_page(self, page: int, data: npt.NDArray[np.uint8]) -> None:
        with _translated_shortage():
            self._open_model().write_page(page, data)

    def _read_state(self, slot: int) -> npt.NDArray[np.uint8]:
        return self._open_model().read_state(slot)

    def _write_state(self, slot: int, data: npt.NDArray[np.uint8]) -> None:
        self._open_model().write_state(slot, data)

    def _open_model(self) -> NativeModel:
        if self._model is None:
            raise EngineError("The executor is closed.")
        return self._model

    def close(self) -> None:
        """Frees model, weights and threads; a second call does nothing."""
        if self._model is not None:
            self._model.close()
            self._model = None
        self._weights.close()
        if self._context.handle:
            self._context.close()

    def _load(self, checkpoint: Checkpoint) -> NativeModel:
        spec, weights = self.spec, self._weights
        ropes = RopePlan(spec, self.max_model_len)
        embed_tokens = weights.linear(checkpoint, "embed_tokens")
        is_tied = spec.tie_word_embeddings
        lm_head = embed_tokens if is_tied else weights.linear(checkpoint, "lm_head")
        layers = [
            weights.layer(checkpoint, index, ropes) for index in range(spec.num_hidden_layers)
        ]
        config = native_config(
            spec,
            self.max_model_len,
            self.num_slots,
            self.num_pages,
            ropes,
            kv_dtype=self.kv_dtype,
            int8_activations=self.activations == "int8",
        )
        norm = weights.norm(checkpoint, "norm")
        model = NativeModel(self._context, config, layers, embed_tokens, norm, lm_head)
        weights.drop_vectors()
        return model


def default_num_threads() -> int:
    """Physical cores this process may use: a second thread on a core only competes for it."""
    physical = psutil.cpu_count(logical=False) or 1
    process = psutil.Process()
    allowed = len(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else physical
    return max(1, min(physical, allowed))


@contextmanager
def _translated_shortage() -> Iterator[None]:
    try:
        yield
    except NativeMemoryError as error:
        raise OutOfMemoryError("The machine has run out of memory.") from error


def _create_context(num_threads: int) -> Context:
    try:
        return Context(num_threads)
    except BuildError as error:
        raise MissingExtraError(str(error), detail=error.log) from error
    except (NativeError, OSError) as error:
        raise EngineError("The cpu executor cannot start: {error}.", error=error) from error


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
