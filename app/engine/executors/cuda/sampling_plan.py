"""The launches that end a decode step: from logits to tokens, and the state of the next step."""

from __future__ import annotations

from app.engine.executors.cuda.buffers import DeviceBuffers
from app.engine.executors.cuda.launcher import Launch, fill
from kernels.cuda.build import ModuleSource
from kernels.cuda.sampling import (
    NUM_LEVELS,
    SAMPLING_ARGS,
    SAMPLING_THREADS,
    TOP_K,
    TOP_P,
    blocks_per_row,
)

_SOURCE = ModuleSource("sampling.cu")


class SamplingPlanner:
    """Writes them."""

    def __init__(self, vocab_size: int, buffers: DeviceBuffers, num_multiprocessors: int) -> None:
        self._buffers = buffers
        self._num_blocks = blocks_per_row(vocab_size, num_multiprocessors)

    def plan_greedy(self, num_rows: int, num_logit_blocks: int) -> list[Launch]:
        """For rows that take the likeliest token: each block of the logits left its greatest."""
        return [self._launch("choose_greatest", (1, num_rows), num_blocks=num_logit_blocks)]

    def plan(self, num_rows: int) -> list[Launch]:
        """For rows that draw each in its own way. The logits are overwritten."""
        grid = (self._num_blocks, num_rows)
        levels = [
            self._launch("narrow_keys", grid, phase=phase, level=level)
            for phase in (TOP_K, TOP_P)
            for level in range(NUM_LEVELS)
        ]
        return [self._launch("penalize", grid), *levels, self._launch("draw", grid)]

    def _launch(self, kernel: str, grid: tuple[int, int], **fields: int) -> Launch:
        buffers, sampling = self._buffers, self._buffers.sampling
        argument = fill(
            SAMPLING_ARGS,
            state=buffers.state.structure,
            logits=buffers.logits,
            block_max=buffers.block_max,
            block_argmax=buffers.block_argmax,
            selections=sampling.selections,
            histograms=sampling.histograms,
            chunk_weights=sampling.chunk_weights,
            chunk_ties=sampling.chunk_ties,
            num_chunks=sampling.num_chunks,
            **fields,
        )
        return Launch(_SOURCE, kernel, grid, (SAMPLING_THREADS,), argument)
