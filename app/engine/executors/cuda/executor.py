"""The cuda executor: a graph per batch size and context bucket, replayed for every step.

`step` gives logits; `sample` decodes without uploads, see `decoding.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from app.checkpoint.reader import Checkpoint
from app.core.errors import EngineError, UnsupportedError
from app.engine.executors.base import Executor, MemoryUse, SequenceChunk
from app.engine.executors.cuda.buffers import DeviceBuffers, KvLayout
from app.engine.executors.cuda.decoding import DecodePlanner, Decoder, DecodeShape, DrawShape
from app.engine.executors.cuda.launcher import Allocator, Launch, Launcher
from app.engine.executors.cuda.measure import measure_buffers
from app.engine.executors.cuda.parts import Parts
from app.engine.executors.cuda.plan import (
    ACTIVATIONS,
    StepPlanner,
    StepShape,
    create_chunk_planner,
    create_step_planner,
)
from app.engine.executors.cuda.prefill import (
    ChunkShape,
    LogitsShape,
    Prefiller,
    PrefillPlanner,
)
from app.engine.executors.cuda.rows import Row, is_long, iter_decode_rows, rows_of
from app.engine.executors.cuda.sampling_plan import SamplingPlanner
from app.engine.executors.cuda.step_state import DecodeRow
from app.engine.executors.cuda.timing import (
    DecodeTimes,
    iter_matrices,
    measure_bandwidth,
    time_kernels,
)
from app.engine.executors.cuda.weights import DeviceWeights, WeightsLoader
from app.engine.executors.honoured import check_fields
from app.engine.sampling import Sampler
from app.spec.delta_net_spec import DeltaNetSpec
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import ModelSpec
from app.spec.moe_spec import MoeSpec
from kernels.cuda.delta_net import MAX_HEAD_DIM as MAX_DELTA_HEAD_DIM
from kernels.cuda.experts import MAX_CHOSEN, MAX_EXPERTS
from kernels.cuda.gemv import MAX_TOKENS
from kernels.cuda.latent import COLUMN_STEP, INT8_COLUMN_STEP
from kernels.cuda.sampling import MAX_ROWS

# What a graph is captured for.
Shape = StepShape | DecodeShape | DrawShape | ChunkShape | LogitsShape
_MAX_HEAD_DIM = 256
_SMALLEST_BUCKET = 256

WeightsSource = Callable[[Allocator, Checkpoint, ModelSpec], DeviceWeights]


class CudaExecutor(Executor):
    """Runs any native checkpoint of a spec that `check_runnable` accepts, on `launcher`'s device.

    `kv_dtype` is one of `kv_dtypes`; `load_weights` may give other weights than the checkpoint's,
    of the same shapes. The executor owns the launcher and closes it, also when
    loading fails. Raises UnsupportedError by name for what the kernels cannot run.
    """

    name = "cuda"
    kv_dtypes: ClassVar[tuple[str, ...]] = ("fp16", "int8")
    draws_where_it_runs: ClassVar[bool] = True
    activations = "fp16"

    def __init__(
        self,
        checkpoint: Checkpoint,
        spec: ModelSpec,
        max_model_len: int,
        num_slots: int = 1,
        num_pages: int | None = None,
        *,
        launcher: Launcher,
        kv_dtype: str = "fp16",
        load_weights: WeightsSource | None = None,
    ) -> None:
        super().__init__(checkpoint, spec, max_model_len, num_slots, num_pages)
        self.kv_dtype = kv_dtype
        self._launcher: Launcher | None = launcher
        self._graphs: dict[Shape, Any] = {}
        try:
            check_runnable(spec)
            load = load_weights or _load_weights
            self._weights = load(launcher, checkpoint, spec)
            kv = KvLayout(num_slots, max_model_len, kv_dtype == "int8", self.num_pages)
            self._buffers = DeviceBuffers(launcher, spec, kv)
        except BaseException:
            self.close()
            raise
        self._pages = Parts(launcher, self._buffers.page_parts)
        self._slots = Parts(launcher, self._buffers.slot_parts)
        sizes = measure_buffers(spec, kv, launcher.num_multiprocessors)
        self._workspace_bytes = sizes.workspace_bytes
        decoding = self._buffers.for_decoding()
        sampling = SamplingPlanner(spec.vocab_size, decoding, launcher.num_multiprocessors)
        self._planner = self._create_planner(self._buffers)
        chunks = create_chunk_planner(spec, self._weights, self._buffers)
        self._prefill_planner = PrefillPlanner(chunks, self._planner)
        self._prefiller = Prefiller(launcher, self._buffers, spec.vocab_size, self._prefill_graph)
        self._decode_planner = DecodePlanner(self._create_planner(decoding), sampling)
        self._decoder = Decoder(
            launcher,
            self._buffers.state,
            self._room_of,
            self._decode_graph,
            self._bucket,
            looks_ahead=not spec.is_recurrent,
        )

    def step(self, chunks: Sequence[SequenceChunk]) -> list[npt.NDArray[np.float32]]:
        """Long chunks one by one, the rows of all others eight at a time; see `Executor.step`."""
        self.check_chunks(chunks)
        logits = self._step(chunks)
        self.record_chunks(chunks)
        return logits

    def _step(self, chunks: Sequence[SequenceChunk]) -> list[npt.NDArray[np.float32]]:
        """Chunks that have been checked."""
        self._upload_tables()
        logits = [
            self._prefiller.run(chunk)
            if is_long(chunk)
            else np.empty((0, self.spec.vocab_size), np.float32)
            for chunk in chunks
        ]
        rows = [row for chunk in chunks if not is_long(chunk) for row in rows_of(chunk)]
        for start in range(0, len(rows), MAX_TOKENS):
            batch = rows[start : start + MAX_TOKENS]
            found = self._run(batch)
            for index, chunk in enumerate(chunks):
                wanted = [i for i, row in enumerate(batch) if row.is_wanted and row.chunk is chunk]
                if wanted:
                    logits[index] = np.concatenate([logits[index], found[wanted]])
        return logits

    def sample(
        self, chunks: Sequence[SequenceChunk], samplers: Sequence[Sampler | None]
    ) -> list[int | None]:
        """Single tokens, and a prompt by itself, are run and drawn on the device; see `Executor`.

        Behind prompts beside other sequences, and for samplers that need logits, Python draws.
        """
        if any(sampler is not None and sampler.needs_logits for sampler in samplers):
            return super().sample(chunks, samplers)
        self.check_chunks(chunks)
        self._upload_tables()
        if len(chunks) == 1 and samplers[0] is not None and is_long(chunks[0]):
            token_id = self._draw_behind(chunks[0], samplers[0])
            self.record_chunks(chunks)
            return [token_id]
        rows = dict(list(iter_decode_rows(chunks, samplers))[:MAX_ROWS])
        rest = [index for index in range(len(chunks)) if index not in rows]
        # Whatever may run out of memory comes before the first token is drawn.
        found = self._step([chunks[i] for i in rest])
        drawn = self._decoder.run(list(rows.values())) if rows else []
        tokens = {
            index: rows[index].sampler.record(token_id)
            for index, token_id in zip(rows, drawn, strict=True)
        }
        for index, logits in zip(rest, found, strict=True):
            sampler = samplers[index]
            if sampler is not None:
                tokens[index] = sampler.sample(logits[-1])
        self.record_chunks(chunks)
        return [tokens.get(index) for index in range(len(chunks))]

    def recover(self) -> None:
        """What was asked ahead is asked anew; see `Executor`."""
        self._decoder.forget()

    def _draw_behind(self, chunk: SequenceChunk, sampler: Sampler) -> int:
        """The first token of a reply; the device goes on from it."""
        self._prefiller.leave_logits(chunk)
        last = len(chunk.token_ids) - 1
        row = DecodeRow(chunk.slot, chunk.start + last, int(chunk.token_ids[last]), sampler)
        return sampler.record(self._decoder.draw(row))

    def map_pages(self, slot: int, pages: Sequence[int]) -> None:
        """See `Executor`; the table is uploaded before the next chunks."""
        if not self._tables.map(slot, pages):
            self._decoder.forget_slot(slot)

    @property
    def page_bytes(self) -> int:
        """Keys, values and scales of all layers."""
        return self._pages.num_bytes

    @property
    def state_bytes(self) -> int:
        """Windows and matrices of all linear layers."""
        return self._slots.num_bytes

    def _copy_page(self, source: int, target: int) -> None:
        self._open_launcher()
        self._pages.copy(source, target)

    def _read_page(self, page: int) -> npt.NDArray[np.uint8]:
        self._open_launcher()
        return self._pages.read(page)

    def _write_page(self, page: int, data: npt.NDArray[np.uint8]) -> None:
        self._open_launcher()
        self._pages.write(page, data)

    def _read_state(self, slot: int) -> npt.NDArray[np.uint8]:
        self._open_launcher()
        return self._slots.read(slot)

    def _write_state(self, slot: int, data: npt.NDArray[np.uint8]) -> None:
        self._open_launcher()
        self._slots.write(slot, data)

    def _open_launcher(self) -> Launcher:
        if self._launcher is None:
            raise EngineError("The executor is closed.")
        return self._launcher

    def _upload_tables(self) -> None:
        """Before chunks that the tables allow: in their order on the device."""
        self._open_launcher()
        for slot in self._tables.take_changed():
            self._buffers.upload_row(slot, self._tables.row(slot))

    def _room_of(self, slot: int) -> int:
        return min(self.max_model_len, self._tables.num_positions(slot))

    def time_decoding(self) -> DecodeTimes:
        """Times the kernels of a step of one sequence, at the position where the last one stood.

        The step after it begins afresh. Raises EngineError for a closed executor.
        """
        launcher = self._open_launcher()
        self._upload_tables()
        shape = DecodeShape(1, self._bucket(self.max_model_len), is_greedy=True)
        launches, matrices = self._decode_planner.plan(shape), iter_matrices(self._weights)
        kernels = time_kernels(launcher, launches, list(matrices))
        self._decoder.forget()
        if self._states is not None:
            self._states.forget()
        return DecodeTimes(measure_bandwidth(launcher), kernels)

    def memory_use(self) -> MemoryUse:
        """Bytes of weights and of the cache, and of all else that was allocated."""
        return MemoryUse(self._weights.num_bytes, self._buffers.kv_bytes, self._workspace_bytes)

    def close(self) -> None:
        """Gives the device's memory back; a second call does nothing."""
        if self._launcher is not None:
            self._launcher.close()
            self._launcher = None
            self._graphs.clear()

    def _run(self, batch: Sequence[Row]) -> npt.NDArray[np.float32]:
        """Logits [rows, vocab_size], or [0, vocab_size] where no row wants any."""
        assert self._launcher is not None
        launcher, buffers = self._launcher, self._buffers
        for values, buffer in (
            ([row.token_id for row in batch], buffers.token_ids),
            ([row.chunk.slot for row in batch], buffers.slots),
            ([row.position for row in batch], buffers.positions),
        ):
            launcher.upload(np.array(values, np.int32), buffer)
        with_logits = any(row.is_wanted for row in batch)
        context = self._bucket(max(row.position for row in batch) + 1)
        launcher.replay(self._graph(StepShape(len(batch), context, with_logits)))
        logits = np.empty((len(batch) if with_logits else 0, self.spec.vocab_size), np.float32)
        if with_logits:
            launcher.download(buffers.logits, logits)
        return logits

    def _create_planner(self, buffers: DeviceBuffers) -> StepPlanner:
        assert self._launcher is not None
        return create_step_planner(
            self.spec, self._weights, buffers, self._launcher.num_multiprocessors
        )

    def _graph(self, shape: StepShape) -> Any:
        return self._captured(shape, lambda: self._planner.plan(shape))

    def _prefill_graph(self, shape: ChunkShape | LogitsShape) -> Any:
        return self._captured(shape, lambda: self._prefill_planner.plan(shape))

    def _decode_graph(self, shape: DecodeShape | DrawShape) -> Any:
        return self._captured(shape, lambda: self._decode_planner.plan(shape))

    def _captured(self, shape: Shape, plan: Callable[[], list[Launch]]) -> Any:
        assert self._launcher is not None
        if shape not in self._graphs:
            self._graphs[shape] = self._launcher.capture(plan())
        return self._graphs[shape]

    def _bucket(self, length: int) -> int:
        """The context a graph is made for: powers of four from 256 on, at most the planned one."""
        bucket = _SMALLEST_BUCKET
        while bucket < length:
            bucket *= 4
        return min(bucket, self.max_model_len)


def _load_weights(allocator: Allocator, checkpoint: Checkpoint, spec: ModelSpec) -> DeviceWeights:
    return WeightsLoader(allocator, checkpoint, spec).load()


def check_runnable(spec: ModelSpec) -> None:
    """Raises UnsupportedError naming the field that the kernels cannot honour."""
    check_fields(spec, "cuda", ACTIVATIONS)
    if spec.moe is not None:
        _check_experts(spec.moe)
    if spec.delta_net is not None:
        _check_delta_net(spec.delta_net)
    if spec.mla is not None:
        _check_latent(spec, spec.mla)
    elif spec.head_dim % 8 or spec.head_dim > _MAX_HEAD_DIM:
        raise UnsupportedError(
            "The cuda executor runs head_dim up to {most} in steps of 8, not {head_dim}.",
            most=_MAX_HEAD_DIM,
            head_dim=spec.head_dim,
        )


def _check_experts(moe: MoeSpec) -> None:
    most_chosen = max(moe.num_experts_per_tok, moe.num_groups)
    if most_chosen > MAX_CHOSEN or moe.num_experts > MAX_EXPERTS:
        raise UnsupportedError(
            "The cuda executor chooses up to {most_chosen} of {most_experts} experts, from up to "
            "{most_chosen} groups; not {num_experts_per_tok} of {num_experts}, from {num_groups}.",
            most_chosen=MAX_CHOSEN,
            most_experts=MAX_EXPERTS,
            num_experts_per_tok=moe.num_experts_per_tok,
            num_experts=moe.num_experts,
            num_groups=moe.num_groups,
        )


def _check_delta_net(delta: DeltaNetSpec) -> None:
    widest = max(delta.linear_key_head_dim, delta.linear_value_head_dim)
    if widest > MAX_DELTA_HEAD_DIM:
        raise UnsupportedError(
            "The cuda executor runs linear layers with heads of up to {most} columns, not "
            "{widest}.",
            most=MAX_DELTA_HEAD_DIM,
            widest=widest,
        )


def _check_latent(spec: ModelSpec, mla: MlaSpec) -> None:
    if mla.kv_lora_rank % INT8_COLUMN_STEP or mla.qk_rope_head_dim % COLUMN_STEP:
        raise UnsupportedError(
            "The cuda executor runs latent vectors in steps of {latent_step} columns with rotary "
            "ones in steps of {rope_step}, not {kv_lora_rank} with {qk_rope_head_dim}.",
            latent_step=INT8_COLUMN_STEP,
            rope_step=COLUMN_STEP,
            kv_lora_rank=mla.kv_lora_rank,
            qk_rope_head_dim=mla.qk_rope_head_dim,
        )
    if spec.query_scaling is not None or spec.attention_sinks:
        raise UnsupportedError(
            "The cuda executor runs latent attention without query_scaling and attention_sinks."
        )
