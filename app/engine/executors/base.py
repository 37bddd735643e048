"""What the engine asks of an executor, whatever runs below it."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import QuantScheme, TensorPath
from app.core.errors import ContextLengthError, EngineError
from app.core.sentence import Sentence
from app.engine.executors.block_tables import KV_PAGE_TOKENS, BlockTables
from app.engine.sampling import Sampler
from app.spec.model_spec import ModelSpec

__all__ = [
    "KV_PAGE_TOKENS",
    "PREFILL_CHUNK_TOKENS",
    "Executor",
    "LogitsWanted",
    "MemoryUse",
    "SequenceChunk",
    "StateLengths",
]

# The longest chunk that the engine sends. Small enough that a cancel waits for a fraction of a
# second even where a CPU prefills only 200 tokens a second.
PREFILL_CHUNK_TOKENS = 128


class LogitsWanted(Enum):
    """Which rows of logits a chunk needs back."""

    NONE = 0
    LAST = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class SequenceChunk:
    """Tokens to run for one sequence: a piece of a prompt, or the one token of a decode step.

    slot: which KV sequence; start: position of the first token (everything before it is in the
    cache, everything from it on is overwritten); token_ids int32 [n]. The state of linear layers
    has no positions to overwrite: with them, start is where the slot's last chunk ended, or 0.
    """

    slot: int
    start: int
    token_ids: npt.NDArray[np.int32]
    logits: LogitsWanted = LogitsWanted.LAST


class StateLengths:
    """How many tokens the recurrent state of each slot has seen; None where nobody knows."""

    def __init__(self, num_slots: int) -> None:
        self._lengths: list[int | None] = [0] * num_slots

    def begin(self, chunks: Sequence[SequenceChunk]) -> None:
        """Raises EngineError unless every chunk begins where its slot's state is, or anew."""
        found = dict(enumerate(self._lengths))
        for chunk in chunks:
            seen = found[chunk.slot]
            if chunk.start not in (0, seen):
                count = Sentence("an unknown number of") if seen is None else f"{seen:,}"
                raise EngineError(
                    "The state of slot {slot} cannot go to position {start:,}: it has seen {count} "
                    "tokens, and can only go on or begin anew.",
                    slot=chunk.slot,
                    start=chunk.start,
                    count=count,
                )
            found[chunk.slot] = chunk.start + len(chunk.token_ids)
        for chunk in chunks:
            self._lengths[chunk.slot] = None

    def forget(self) -> None:
        """Something else has moved all states on."""
        self._lengths = [None] * len(self._lengths)

    def length(self, slot: int) -> int:
        """Tokens that a slot's state has seen; EngineError where nobody knows."""
        length = self._lengths[slot]
        if length is None:
            raise EngineError(
                "The state of slot {slot} has seen an unknown number of tokens.", slot=slot
            )
        return length

    def replace(self, slot: int, num_tokens: int) -> None:
        """The slot has got another state, which has seen so many tokens."""
        self._lengths[slot] = num_tokens

    def record(self, chunks: Sequence[SequenceChunk]) -> None:
        """What `begin` allowed has run."""
        for chunk in chunks:
            self._lengths[chunk.slot] = chunk.start + len(chunk.token_ids)


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes an executor holds, by cause."""

    weights_bytes: int
    kv_bytes: int
    workspace_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.weights_bytes + self.kv_bytes + self.workspace_bytes


class Executor(ABC):
    """Runs one checkpoint. Not thread-safe: the engine thread owns it.

    Keys and values are cached in a pool of `num_pages` pages, each of KV_PAGE_TOKENS positions of
    all layers that cache any. A slot is a sequence that runs: a row of pages (`map_pages`), which
    slots may share, and the state of linear layers, which is each slot's own. A page keeps what
    was written until a chunk, `copy_page` or `write_page` overwrites it, whether mapped or not.
    With `num_pages` None every slot owns pages for `max_model_len` positions, mapped from the
    start; else nothing is mapped at first.
    """

    name: str
    kv_dtypes: ClassVar[tuple[str, ...]] = ("fp32",)  # of `KV_DTYPES`; the first is the default
    # Whether `sample` draws on the device, so that a step without it is no measure of decoding.
    draws_where_it_runs: ClassVar[bool] = False
    # Tokens of prompts and replies that share a pass over the weights; None: they never do.
    max_pass_tokens: ClassVar[int | None] = None
    expands_latents: ClassVar[bool] = False  # before they are cached
    keeps_weights_packed: ClassVar[bool] = True  # so that fewer bits take less memory
    # Guesses of a lone reply's next tokens that `verify` takes at once; 0 where it would not pay,
    # or where rows that run together differ in a bit from those that run alone.
    max_draft_tokens: int = 0
    kv_dtype: str = "fp32"  # of this executor's cache
    activations: str = "fp32"  # what quantized weights are multiplied with

    def __init__(
        self,
        checkpoint: Checkpoint,
        spec: ModelSpec,
        max_model_len: int,
        num_slots: int = 1,
        num_pages: int | None = None,
    ) -> None:
        self.spec = spec
        self.max_model_len = max_model_len
        self.num_slots = num_slots
        self._tables = BlockTables(num_slots, max_model_len, num_pages)
        self.num_pages = self._tables.num_pages
        self._states = StateLengths(num_slots) if spec.is_recurrent else None

    @classmethod
    def plan_weights_bytes(
        cls, checkpoint: Checkpoint, spec: ModelSpec, activations: str = "int8"
    ) -> int:
        """What the weights will take; by default what they take on disk, less `saved_bytes`."""
        return checkpoint.total_bytes - sum(
            cls.saved_bytes(record.shape, record.quant, record.provenance.source_type, activations)
            for record in checkpoint.manifest.linears.values()
            if record.provenance.path is TensorPath.EXACT
        )

    @classmethod
    def saved_bytes(
        cls, shape: tuple[int, int], quant: QuantScheme | None, source_type: str, activations: str
    ) -> int:
        """What a linear that keeps a source's codes takes less than on disk; by default nothing."""
        return 0

    @classmethod
    def kv_dtype_for(cls, wanted: str) -> str:
        """The cache that is used when `wanted` of `KV_DTYPES` is asked for."""
        return wanted if wanted in cls.kv_dtypes else cls.kv_dtypes[0]

    @abstractmethod
    def step(self, chunks: Sequence[SequenceChunk]) -> list[npt.NDArray[np.float32]]:
        """Runs the chunks; returns per chunk float32 logits [0 | 1 | n, vocab_size].

        Raises ContextLengthError when start + n > max_model_len, EngineError for positions beyond
        the slot's pages, and for a start that the state of linear layers does not have.
        """

    def sample(
        self, chunks: Sequence[SequenceChunk], samplers: Sequence[Sampler | None]
    ) -> list[int | None]:
        """Runs the chunks; returns the token drawn behind each, None where there is no sampler.

        The samplers remember what was drawn. A chunk with a sampler asks for its last logits.
        The token is -1 where none could be drawn: the sampler's `check` says why. Raises as `step`;
        OutOfMemoryError, and MemoryError: nothing was drawn, and the same chunks may run again
        after `recover`.
        """
        logits = self.step(chunks)
        pairs = zip(samplers, logits, strict=True)
        return [
            None if sampler is None else self._draw(sampler, rows[-1]) for sampler, rows in pairs
        ]

    def verify(self, chunk: SequenceChunk, sampler: Sampler) -> list[int]:
        """Draws behind a chunk's first token, and behind each next one while that was drawn.

        The chunk asks for ALL logits. The tokens, and the sampler's memory of them, are those that
        single steps would have given. Raises as `sample`.
        """
        (logits,) = self.step([chunk])
        drawn: list[int] = []
        for row, guess in zip(logits, [*chunk.token_ids[1:].tolist(), None], strict=True):
            drawn.append(self._draw(sampler, row))
            if drawn[-1] != guess:
                break
        return drawn

    def _draw(self, sampler: Sampler, logits: npt.NDArray[np.float32]) -> int:
        """The token from logits [vocab_size], by Python's definition unless there is a faster way
        to the same."""
        return sampler.sample(logits)

    def map_pages(self, slot: int, pages: Sequence[int]) -> None:
        """Replaces the slot's whole row: position p lies in page `pages[p // KV_PAGE_TOKENS]`.

        Contents stay where they are. A chunk writes its own positions, so the pages that it begins
        in and goes on to should be no other slot's; those before may be shared. At most as many
        pages as `max_model_len` takes. An executor may run a token ahead of what `sample` returned:
        it then writes the next position too, where that has a page. Mapping a page for it early
        makes decoding faster and is never needed.
        Raises EngineError for pages that are not of the pool, and for one that comes twice.
        """
        self._tables.map(slot, pages)

    @property
    @abstractmethod
    def page_bytes(self) -> int:
        """Of a page as `read_page` gives it; 0 where no layer caches positions."""

    @property
    @abstractmethod
    def state_bytes(self) -> int:
        """Of a slot's state as `read_state` gives it; 0 for models without linear layers."""

    def copy_page(self, source: int, target: int) -> None:
        """All positions of all layers, as the chunks that ran before have left them."""
        self._tables.check([source, target])
        self._copy_page(source, target)

    def read_page(self, page: int) -> npt.NDArray[np.uint8]:
        """A copy of a page, [page_bytes], in this executor's own layout: see `cache_format`.

        What was never written is anything.
        """
        self._tables.check([page])
        return self._read_page(page)

    def write_page(self, page: int, data: npt.NDArray[np.uint8]) -> None:
        """Replaces a page by what `read_page` gave; EngineError for another size."""
        self._tables.check([page])
        self._write_page(page, _checked_bytes(data, self.page_bytes))

    def read_state(self, slot: int) -> npt.NDArray[np.uint8]:
        """A copy of what linear layers know of the slot's sequence, [state_bytes].

        It belongs to the number of tokens that the slot has run. Raises EngineError where that is
        unknown because a step failed.
        """
        if self._states is None:
            return np.empty(0, np.uint8)
        self._states.length(slot)
        return self._read_state(slot)

    def write_state(self, slot: int, data: npt.NDArray[np.uint8], num_tokens: int) -> None:
        """Replaces a slot's state by what `read_state` gave after `num_tokens` tokens.

        The slot's next chunk starts there, or at 0. EngineError for another size.
        """
        data = _checked_bytes(data, self.state_bytes)
        if self._states is not None:
            self._write_state(slot, data)
            self._states.replace(slot, num_tokens)

    @property
    def cache_format(self) -> str:
        """Pages and states of this checkpoint go to executors that give the same words here.

        Frequencies of some ropes depend on `max_model_len`, and keys on them.
        """
        ropes = [self.spec.layer_rope(index) for index in range(self.spec.num_hidden_layers)]
        frequencies = b"".join(
            rope.inverse_frequencies(self.max_model_len).tobytes() for rope in ropes if rope
        )
        return " ".join(
            (
                self.name,
                self.activations,
                self.kv_dtype,
                f"{self.page_bytes}+{self.state_bytes}",
                f"{zlib.crc32(frequencies):08x}",
            )
        )

    def recover(self) -> None:
        """After a step that ran out of memory: forgets what it had begun, if anything."""
        return

    def check_chunks(self, chunks: Sequence[SequenceChunk]) -> None:
        """Raises what `step` promises, before any cache is touched.

        Whoever runs them then calls `record_chunks`; until then nothing is known of their slots'
        states, which may have been moved on in part.
        """
        for chunk in chunks:
            end = chunk.start + len(chunk.token_ids)
            if end > self.max_model_len:
                raise ContextLengthError(
                    "{end:,} tokens do not fit into the context, which was planned for "
                    "{max_model_len:,}.",
                    end=end,
                    max_model_len=self.max_model_len,
                )
            if not 0 <= chunk.slot < self.num_slots or chunk.start < 0 or not len(chunk.token_ids):
                raise EngineError(
                    "There is no such chunk: slot {slot}, start {start:,}.",
                    slot=chunk.slot,
                    start=chunk.start,
                )
            if end > self._tables.num_positions(chunk.slot):
                raise EngineError(
                    "Slot {slot} has no page for position {position:,}.",
                    slot=chunk.slot,
                    position=end - 1,
                )
            if chunk.token_ids.min() < 0 or chunk.token_ids.max() >= self.spec.vocab_size:
                raise EngineError(
                    "A token id is outside the vocabulary of {vocab_size:,}.",
                    vocab_size=self.spec.vocab_size,
                )
        if self._states is not None:
            self._states.begin(chunks)

    def record_chunks(self, chunks: Sequence[SequenceChunk]) -> None:
        """The chunks have run as a whole."""
        if self._states is not None:
            self._states.record(chunks)

    # What the public ones of these names have checked.
    @abstractmethod
    def _copy_page(self, source: int, target: int) -> None: ...

    @abstractmethod
    def _read_page(self, page: int) -> npt.NDArray[np.uint8]: ...

    @abstractmethod
    def _write_page(self, page: int, data: npt.NDArray[np.uint8]) -> None: ...

    @abstractmethod
    def _read_state(self, slot: int) -> npt.NDArray[np.uint8]: ...

    @abstractmethod
    def _write_state(self, slot: int, data: npt.NDArray[np.uint8]) -> None: ...

    @abstractmethod
    def memory_use(self) -> MemoryUse:
        """Bytes held now."""

    @abstractmethod
    def close(self) -> None:
        """Gives all memory back; the executor is unusable afterwards."""


def _checked_bytes(data: npt.NDArray[np.uint8], num_bytes: int) -> npt.NDArray[np.uint8]:
    """The data, contiguous; EngineError unless it is so many bytes."""
    if data.dtype != np.uint8 or data.shape != (num_bytes,):
        raise EngineError(
            "{num_given:,} bytes were to replace {num_bytes:,} of the cache.",
            num_given=data.nbytes,
            num_bytes=num_bytes,
        )
    return np.ascontiguousarray(data)
