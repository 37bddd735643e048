"""The cuda executor: a graph per batch size and context bucket, replayed for every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from app.checkpoint.reader import Checkpoint
from app.core.errors import EngineError, UnsupportedError
from app.engine.executors.base import Executor, LogitsWanted, MemoryUse, SequenceChunk
from app.engine.executors.cuda.buffers import DeviceBuffers, KvLayout
from app.engine.executors.cuda.launcher import Launcher
from app.engine.executors.cuda.plan import StepPlanner, StepShape
from app.engine.executors.cuda.weights import WeightsLoader
from app.spec.model_spec import ModelSpec
from kernels.cuda.experts import MAX_CHOSEN
from kernels.cuda.gemv import MAX_TOKENS

_MAX_HEAD_DIM = 256
_SMALLEST_BUCKET = 256
_NOT_YET = ("mla",)


class CudaExecutor(Executor):
    """Runs any native checkpoint of a spec that `check_runnable` accepts, on `launcher`'s device.

    `kv_dtype` is one of `kv_dtypes`. The executor owns the launcher and closes it, also when
    loading fails. Raises UnsupportedError by name for what the kernels cannot run.
    """

    name = "cuda"
    kv_dtypes: ClassVar[tuple[str, ...]] = ("fp16", "int8")

    def __init__(
        self,
        checkpoint: Checkpoint,
        spec: ModelSpec,
        max_model_len: int,
        num_slots: int = 1,
        *,
        launcher: Launcher,
        kv_dtype: str = "fp16",
    ) -> None:
        super().__init__(checkpoint, spec, max_model_len, num_slots)
        self._launcher: Launcher | None = launcher
        self._graphs: dict[StepShape, Any] = {}
        try:
            check_runnable(spec)
            self._weights = WeightsLoader(launcher, checkpoint, spec).load()
            kv = KvLayout(num_slots, max_model_len, kv_dtype == "int8")
            self._buffers = DeviceBuffers(launcher, spec, kv)
        except BaseException:
            self.close()
            raise
        self._planner = StepPlanner(
            spec, self._weights, self._buffers, launcher.num_multiprocessors
        )

    def step(self, chunks: Sequence[SequenceChunk]) -> list[npt.NDArray[np.float32]]:
        """All rows of all chunks, eight at a time; see `Executor.step`."""
        self.check_chunks(chunks)
        rows = [row for chunk in chunks for row in _rows_of(chunk)]
        logits = [np.empty((0, self.spec.vocab_size), np.float32) for _ in chunks]
        for start in range(0, len(rows), MAX_TOKENS):
            batch = rows[start : start + MAX_TOKENS]
            found = self._run(batch)
            for index, chunk in enumerate(chunks):
                wanted = [i for i, row in enumerate(batch) if row.is_wanted and row.chunk is chunk]
                if wanted:
                    logits[index] = np.concatenate([logits[index], found[wanted]])
        return logits

    def memory_use(self) -> MemoryUse:
        """Bytes of weights and of the cache."""
        return MemoryUse(self._weights.num_bytes, self._buffers.kv_bytes, 0)

    def close(self) -> None:
        """Gives the device's memory back; a second call does nothing."""
        if self._launcher is not None:
            self._launcher.close()
            self._launcher = None
            self._graphs.clear()

    def _run(self, batch: Sequence[_Row]) -> npt.NDArray[np.float32]:
        """Logits [rows, vocab_size], or [0, vocab_size] where no row wants any."""
        if self._launcher is None:
            raise EngineError("The executor is closed.")
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

    def _graph(self, shape: StepShape) -> Any:
        assert self._launcher is not None
        if shape not in self._graphs:
            self._graphs[shape] = self._launcher.capture(self._planner.plan(shape))
        return self._graphs[shape]

    def _bucket(self, length: int) -> int:
        """The context a graph is made for: powers of four from 256 on, at most the planned one."""
        bucket = _SMALLEST_BUCKET
        while bucket < length:
            bucket *= 4
        return min(bucket, self.max_model_len)


@dataclass(frozen=True, slots=True)
class _Row:
    """One token of a chunk."""

    chunk: SequenceChunk
    token_id: int
    position: int
    is_wanted: bool


def _rows_of(chunk: SequenceChunk) -> list[_Row]:
    last = len(chunk.token_ids) - 1
    return [
        _Row(
            chunk,
            int(token_id),
            chunk.start + index,
            chunk.logits is LogitsWanted.ALL
            or (chunk.logits is LogitsWanted.LAST and index == last),
        )
        for index, token_id in enumerate(chunk.token_ids)
    ]


def check_runnable(spec: ModelSpec) -> None:
    """Raises UnsupportedError naming the field that the kernels cannot honour."""
    defaults = {field.name: field.default for field in fields(spec)}
    for name in _NOT_YET:
        if defaults[name] is not MISSING and getattr(spec, name) != defaults[name]:
            raise UnsupportedError(f"The cuda executor does not implement {name} yet.")
    if spec.moe is not None and max(spec.moe.num_experts_per_tok, spec.moe.num_groups) > MAX_CHOSEN:
        raise UnsupportedError(
            f"The cuda executor chooses up to {MAX_CHOSEN} experts, from as many groups."
        )
    if spec.head_dim % 8 or spec.head_dim > _MAX_HEAD_DIM:
        raise UnsupportedError(
            f"The cuda executor runs head_dim up to {_MAX_HEAD_DIM} in steps of 8, "
            f"not {spec.head_dim}."
        )
