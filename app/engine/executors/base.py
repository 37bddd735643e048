"""What the engine asks of an executor, whatever runs below it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from app.spec.model_spec import ModelSpec


class LogitsWanted(Enum):
    """Which rows of logits a chunk needs back."""

    NONE = 0
    LAST = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class SequenceChunk:
    """Tokens to run for one sequence: a piece of a prompt, or the one token of a decode step.

    slot: which KV sequence; start: position of the first token (everything before it is in the cache,
    everything from it on is overwritten); token_ids int32 [n].
    """

    slot: int
    start: int
    token_ids: npt.NDArray[np.int32]
    logits: LogitsWanted = LogitsWanted.LAST


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes an executor holds, by cause."""

    weights_bytes: int
    kv_bytes: int
    workspace_bytes: int


class Executor(ABC):
    """Runs one checkpoint. Not thread-safe: the engine thread owns it."""

    name: str
    spec: ModelSpec
    max_model_len: int
    num_slots: int

    @abstractmethod
    def step(self, chunks: Sequence[SequenceChunk]) -> list[npt.NDArray[np.float32]]:
        """Runs the chunks; returns per chunk float32 logits [0 | 1 | n, vocab_size].

        Raises ContextLengthError when start + n > max_model_len.
        """

    @abstractmethod
    def memory_use(self) -> MemoryUse:
        """Bytes held now."""

    @abstractmethod
    def close(self) -> None:
        """Gives all memory back; the executor is unusable afterwards."""
