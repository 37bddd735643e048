"""Prompts in chunks: products and attention on tensor cores, logits where they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.engine.executors.base import PREFILL_CHUNK_TOKENS, LogitsWanted, SequenceChunk
from app.engine.executors.cuda.buffers import DeviceBuffers
from app.engine.executors.cuda.launcher import Launch, Launcher
from app.engine.executors.cuda.plan import StepPlanner, StepShape
from kernels.cuda.gemm import padded_tokens
from kernels.cuda.gemv import MAX_TOKENS

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ChunkShape:
    """What a graph of a chunk is made for: its rows with padding."""

    num_rows: int


@dataclass(frozen=True, slots=True)
class LogitsShape:
    """Rows of a chunk, 1 to 8, whose logits a graph makes."""

    first_row: int
    num_rows: int


class PrefillPlanner:
    """Writes the launches of both. `steps` plans for few rows, `chunks` for many."""

    def __init__(self, chunks: StepPlanner, steps: StepPlanner) -> None:
        self._chunks, self._steps = chunks, steps

    def plan(self, shape: ChunkShape | LogitsShape) -> list[Launch]:
        """Embedding and layers, or logits."""
        if isinstance(shape, LogitsShape):
            return self._steps.plan_logits(shape.num_rows, shape.first_row)
        return self._chunks.plan(StepShape(shape.num_rows, context=0, with_logits=False))


class Prefiller:
    """Runs chunks of more than eight tokens, each by itself.

    A chunk is padded by its last token again and again: the same keys and values at the same place
    of the cache, and its last row is the last of the padded ones. `graph_of` captures a shape once.
    """

    def __init__(
        self,
        launcher: Launcher,
        buffers: DeviceBuffers,
        vocab_size: int,
        graph_of: Callable[[ChunkShape | LogitsShape], Any],
    ) -> None:
        self._launcher, self._buffers = launcher, buffers
        self._vocab_size, self._graph_of = vocab_size, graph_of

    def run(self, chunk: SequenceChunk) -> Floats:
        """Logits [0 | 1 | n, vocab_size] as the chunk wants them."""
        pieces = [self._run_piece(piece) for piece in _pieces(chunk)]
        return np.concatenate(pieces)

    def leave_logits(self, chunk: SequenceChunk) -> None:
        """Those of the last token stand in the buffers' first row then."""
        for piece in _pieces(chunk):
            num_rows = self._compute(piece)
        self._launcher.replay(self._graph_of(LogitsShape(num_rows - 1, 1)))

    def _run_piece(self, piece: SequenceChunk) -> Floats:
        num_tokens, num_rows = len(piece.token_ids), self._compute(piece)
        if piece.logits is LogitsWanted.LAST:
            return self._logits(num_rows - 1, 1)
        wanted = num_tokens if piece.logits is LogitsWanted.ALL else 0
        parts = [
            self._logits(first, MAX_TOKENS)[: wanted - first]
            for first in range(0, wanted, MAX_TOKENS)
        ]
        return np.concatenate([np.empty((0, self._vocab_size), np.float32), *parts])

    def _compute(self, piece: SequenceChunk) -> int:
        """Everything but logits; returns the rows with padding."""
        num_tokens = len(piece.token_ids)
        num_rows = padded_tokens(num_tokens)
        rows = np.minimum(np.arange(num_rows, dtype=np.int32), num_tokens - 1)
        buffers = self._buffers
        self._launcher.upload(piece.token_ids[rows].astype(np.int32), buffers.token_ids)
        self._launcher.upload(np.full(num_rows, piece.slot, np.int32), buffers.slots)
        self._launcher.upload(piece.start + rows, buffers.positions)
        self._launcher.replay(self._graph_of(ChunkShape(num_rows)))
        return num_rows

    def _logits(self, first_row: int, num_rows: int) -> Floats:
        self._launcher.replay(self._graph_of(LogitsShape(first_row, num_rows)))
        logits = np.empty((num_rows, self._vocab_size), np.float32)
        self._launcher.download(self._buffers.logits, logits)
        return logits


def _pieces(chunk: SequenceChunk) -> list[SequenceChunk]:
    """As long as the buffers; of the last logits only the last piece's."""
    starts = range(0, len(chunk.token_ids), PREFILL_CHUNK_TOKENS)
    is_last_only = chunk.logits is LogitsWanted.LAST
    return [
        replace(
            chunk,
            start=chunk.start + start,
            token_ids=chunk.token_ids[start : start + PREFILL_CHUNK_TOKENS],
            logits=LogitsWanted.NONE if is_last_only and start != starts[-1] else chunk.logits,
        )
        for start in starts
    ]
