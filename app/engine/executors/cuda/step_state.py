"""What decoding carries from step to step on the device, and how the host begins and follows it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.engine.executors.cuda.launcher import Allocator, Buffer, fill, host_view
from app.engine.request import SamplingParams
from app.engine.sampling import WEIGHT_OF_LIKELIEST, Sampler
from kernels.cuda.sampling import MAX_ROWS, RING_ENTRIES, ROW_STATE, STEP_STATE

_SEQUENCE_BITS = 32


@dataclass(frozen=True, slots=True)
class DecodeRow:
    """The one token that a sequence runs next, and what draws the token behind it."""

    slot: int
    position: int
    token_id: int
    sampler: Sampler


class StepState:
    """Allocated once; the addresses are in the graphs."""

    def __init__(self, allocator: Allocator, vocab_size: int, num_slots: int) -> None:
        self._allocator, self._vocab_size = allocator, vocab_size
        self.rows = allocator.allocate(MAX_ROWS * ROW_STATE.itemsize)
        self.token_ids, self.slots, self.positions = (
            allocator.allocate(4 * MAX_ROWS) for _ in range(3)
        )
        self._is_seen = allocator.allocate(num_slots * vocab_size)
        self._num_output = allocator.allocate(4 * num_slots * vocab_size)
        self._ring = allocator.allocate_host(8 * RING_ENTRIES * MAX_ROWS)

    @property
    def structure(self) -> npt.NDArray[np.void]:
        """STEP_STATE."""
        return fill(
            STEP_STATE,
            rows=self.rows,
            token_ids=self.token_ids,
            positions=self.positions,
            slots=self.slots,
            is_seen=self._is_seen,
            num_output=self._num_output,
            ring=self._ring,
            vocab_size=self._vocab_size,
        )

    def begin(self, rows: list[DecodeRow], num_padded: int, sequence: int) -> None:
        """Uploads the rows; the next step writes entry `sequence` of the ring.

        Rows beyond are copies of the last: they compute and store the same, and count nothing.
        """
        padded = rows + rows[-1:] * (num_padded - len(rows))
        states = np.zeros(num_padded, ROW_STATE)
        for index, row in enumerate(padded):
            states[index] = create_row_state(row.sampler, sequence, is_copy=index >= len(rows))
        self._allocator.upload(states, self.rows)
        for values, buffer in (
            ([row.token_id for row in padded], self.token_ids),
            ([row.slot for row in padded], self.slots),
            ([row.position for row in padded], self.positions),
        ):
            self._allocator.upload(np.array(values, np.int32), buffer)
        for row in rows:
            if has_penalties(row.sampler.params):
                self._upload_counts(row)

    def has_arrived(self, num_rows: int, sequence: int) -> bool:
        """Whether the host can see the tokens of a step."""
        entry = self._entry(num_rows, sequence)
        return bool((entry >> np.uint64(_SEQUENCE_BITS) == sequence).all())

    def tokens(self, num_rows: int, sequence: int) -> list[int]:
        """Of a step that has arrived; -1 where the logits were not finite."""
        low = self._entry(num_rows, sequence).astype(np.uint32)
        return [int(token) for token in low.view(np.int32)]

    def _entry(self, num_rows: int, sequence: int) -> npt.NDArray[np.uint64]:
        entries = host_view(self._ring).view(np.uint64).reshape(RING_ENTRIES, MAX_ROWS)
        return entries[sequence % RING_ENTRIES, :num_rows]

    def _upload_counts(self, row: DecodeRow) -> None:
        """What the penalties need."""
        sampler, size = row.sampler, self._vocab_size
        self._allocator.upload(sampler.is_seen, _part(self._is_seen, row.slot * size, size))
        counts = _part(self._num_output, 4 * row.slot * size, 4 * size)
        self._allocator.upload(sampler.num_output, counts)


def has_penalties(params: SamplingParams) -> bool:
    """Whether earlier tokens change what is drawn."""
    return (
        params.repetition_penalty != 1.0
        or params.presence_penalty != 0.0
        or params.frequency_penalty != 0.0
    )


def is_greedy(params: SamplingParams) -> bool:
    """Whether the likeliest token is drawn, as the logits stand."""
    return params.temperature == 0.0 and not has_penalties(params)


def create_row_state(sampler: Sampler, sequence: int, *, is_copy: bool) -> npt.NDArray[np.void]:
    """ROW_STATE of a sampler's next token."""
    params = sampler.params
    # As Python's definition does: this penalty is a float32 there.
    repetition_penalty = float(np.float32(params.repetition_penalty))
    return fill(
        ROW_STATE,
        seed=sampler.seed,
        step=sampler.num_sampled,
        temperature=params.temperature,
        inverse_temperature=_inverse(params.temperature),
        top_p=params.top_p,
        repetition_penalty=repetition_penalty,
        inverse_repetition_penalty=_inverse(repetition_penalty),
        presence_penalty=params.presence_penalty,
        frequency_penalty=params.frequency_penalty,
        least_weight=max(1, math.ceil(params.min_p * WEIGHT_OF_LIKELIEST)),
        sequence=sequence,
        top_k=min(params.top_k, np.iinfo(np.int32).max),
        counts_tokens=has_penalties(params) and not is_copy,
    )


def _inverse(value: float) -> float:
    return 1.0 / value if value else 0.0


def _part(buffer: Buffer, start: int, num_bytes: int) -> Buffer:
    return Buffer(buffer.address + start, num_bytes)
