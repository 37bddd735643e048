"""The reference executor: a `Network`, a pool of pages, and states per slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch

from app.checkpoint.reader import Checkpoint
from app.core.errors import OutOfMemoryError
from app.engine.executors.base import Executor, LogitsWanted, MemoryUse, SequenceChunk
from app.engine.executors.block_tables import pages_for
from app.engine.executors.reference.cache import (
    ChunkContext,
    PagePool,
    create_rotation,
    create_slot,
)
from app.engine.executors.reference.network import load_network
from app.spec.model_spec import ModelSpec
from app.spec.weights import num_parameters

# What PyTorch's allocator for the CPU says, which has no error of its own.
_NO_MEMORY = "DefaultCPUAllocator: "


@contextmanager
def allocations_of_torch() -> Iterator[None]:
    """Those that fail inside are OutOfMemoryError."""
    try:
        yield
    except RuntimeError as error:
        if _NO_MEMORY not in str(error):
            raise
        raise OutOfMemoryError("The machine has run out of memory.", detail=str(error)) from error


class ReferenceExecutor(Executor):
    """Runs any checkpoint by decoding its weights to float32 once."""

    name = "reference"
    expands_latents: ClassVar[bool] = True
    keeps_weights_packed: ClassVar[bool] = False

    def __init__(
        self,
        checkpoint: Checkpoint,
        spec: ModelSpec,
        max_model_len: int,
        num_slots: int = 1,
        num_pages: int | None = None,
    ) -> None:
        super().__init__(checkpoint, spec, max_model_len, num_slots, num_pages)
        with allocations_of_torch():
            self._network = load_network(checkpoint, spec)
        layers = range(spec.num_hidden_layers)
        self._ropes = {rope for index in layers if (rope := spec.layer_rope(index)) is not None}
        self._pool = PagePool(spec)
        self._slots = [create_slot(spec) for _ in range(num_slots)]

    @classmethod
    def plan_weights_bytes(
        cls, checkpoint: Checkpoint, spec: ModelSpec, activations: str = "int8"
    ) -> int:
        """Four bytes a weight, however they are stored."""
        return 4 * num_parameters(spec)

    def step(self, chunks: Sequence[SequenceChunk]) -> list[npt.NDArray[np.float32]]:
        """One chunk after the other; see `Executor.step`."""
        self.check_chunks(chunks)
        with torch.inference_mode(), allocations_of_torch():
            logits = [self._run(chunk) for chunk in chunks]
        self.record_chunks(chunks)
        return logits

    def memory_use(self) -> MemoryUse:
        """Bytes of the decoded weights, and of the pages reached so far with all states."""
        states = sum(slot.state_bytes for slot in self._slots)
        return MemoryUse(self._network.num_bytes, self._pool.num_bytes + states, 0)

    @property
    def page_bytes(self) -> int:
        """Keys and values of all layers, float32."""
        return self._pool.page_bytes

    @property
    def state_bytes(self) -> int:
        """Windows and matrices, float32."""
        return self.spec.state_bytes

    def _copy_page(self, source: int, target: int) -> None:
        self._pool.copy(source, target)

    def _read_page(self, page: int) -> npt.NDArray[np.uint8]:
        return self._pool.read(page)

    def _write_page(self, page: int, data: npt.NDArray[np.uint8]) -> None:
        self._pool.write(page, data)

    def _read_state(self, slot: int) -> npt.NDArray[np.uint8]:
        return self._slots[slot].read_states()

    def _write_state(self, slot: int, data: npt.NDArray[np.uint8]) -> None:
        self._slots[slot].write_states(data)

    def close(self) -> None:
        """Drops every tensor."""
        del self._network, self._pool, self._slots

    def _run(self, chunk: SequenceChunk) -> npt.NDArray[np.float32]:
        token_ids = torch.from_numpy(chunk.token_ids.astype(np.int64))
        hidden = self._network.hidden_states(token_ids, self._create_context(chunk))
        n = len(hidden)
        first = {LogitsWanted.NONE: n, LogitsWanted.LAST: n - 1, LogitsWanted.ALL: 0}[chunk.logits]
        return np.asarray(self._network.logits(hidden[first:]).numpy(), dtype=np.float32)

    def _create_context(self, chunk: SequenceChunk) -> ChunkContext:
        end = chunk.start + len(chunk.token_ids)
        slot = self._slots[chunk.slot]
        row = self._tables.row(chunk.slot)[: pages_for(end)]
        slot.pages = [self._pool.page(page) for page in row]
        if chunk.start == 0:
            slot.reset(self.spec)
        positions = torch.arange(chunk.start, end)
        rotations = {
            rope: create_rotation(rope, positions, self.max_model_len) for rope in self._ropes
        }
        return ChunkContext(positions, rotations, slot)
