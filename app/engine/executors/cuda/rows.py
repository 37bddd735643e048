"""How chunks become rows of a step: each token one, each token to be drawn one of the decoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.engine.executors.base import LogitsWanted, SequenceChunk
from app.engine.executors.cuda.step_state import DecodeRow
from app.engine.sampling import Sampler
from kernels.cuda.gemv import MAX_TOKENS


@dataclass(frozen=True, slots=True)
class Row:
    """One token of a chunk; `is_wanted`: with its logits."""

    chunk: SequenceChunk
    token_id: int
    position: int
    is_wanted: bool


def iter_decode_rows(
    chunks: Sequence[SequenceChunk], samplers: Sequence[Sampler | None]
) -> Iterator[tuple[int, DecodeRow]]:
    """Chunks of one token with a sampler, by their place."""
    for index, (chunk, sampler) in enumerate(zip(chunks, samplers, strict=True)):
        if sampler is not None and len(chunk.token_ids) == 1:
            token_id = int(chunk.token_ids[0])
            yield index, DecodeRow(chunk.slot, chunk.start, token_id, sampler)


def is_long(chunk: SequenceChunk) -> bool:
    """Whether it is prefilled by itself."""
    return len(chunk.token_ids) > MAX_TOKENS


def rows_of(chunk: SequenceChunk) -> list[Row]:
    """One for each of its tokens."""
    last = len(chunk.token_ids) - 1
    return [
        Row(
            chunk,
            int(token_id),
            chunk.start + index,
            chunk.logits is LogitsWanted.ALL
            or (chunk.logits is LogitsWanted.LAST and index == last),
        )
        for index, token_id in enumerate(chunk.token_ids)
    ]
