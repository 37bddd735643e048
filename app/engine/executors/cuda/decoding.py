"""Decoding without uploads: the device draws a token, makes it its next input, and tells the host.

One step is asked for ahead, before the host has the token of the step that runs, so that the
device never waits for Python. When the batch does not go on as it was, what the extra step did is
undone: its keys and values lie beyond what the sequence has computed and are overwritten, and what
penalties count is uploaded anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from app.engine.executors.cuda.launcher import Launch, Launcher
from app.engine.executors.cuda.plan import StepPlanner, StepShape
from app.engine.executors.cuda.sampling_plan import SamplingPlanner
from app.engine.executors.cuda.step_state import DecodeRow, StepState, is_greedy
from kernels.cuda.sampling import MAX_ROWS

_PADDED_ROWS = (1, 2, 4, MAX_ROWS)


@dataclass(frozen=True, slots=True)
class DecodeShape:
    """What a graph of decoding is made for; `num_rows` is one of few, `is_greedy` of all rows."""

    num_rows: int
    context: int
    is_greedy: bool


@dataclass(frozen=True, slots=True)
class DrawShape:
    """Of a graph that begins with logits of one row, which something else has made."""

    is_greedy: bool


class DecodePlanner:
    """Writes the launches of a whole decode step, from token to token.

    Both planners are for `DeviceBuffers.for_decoding`.
    """

    def __init__(self, planner: StepPlanner, sampling: SamplingPlanner) -> None:
        self._planner, self._sampling = planner, sampling

    def plan(self, shape: DecodeShape | DrawShape) -> list[Launch]:
        """Embedding, layers, logits, tokens; or tokens alone."""
        if isinstance(shape, DrawShape):
            (*_, logits) = self._planner.plan_logits(1)
            return self._draw(1, logits, shape.is_greedy)
        num_rows = shape.num_rows
        launches = self._planner.plan(StepShape(num_rows, shape.context, with_logits=True))
        return launches + self._draw(num_rows, launches[-1], shape.is_greedy)

    def _draw(self, num_rows: int, logits: Launch, is_greedy: bool) -> list[Launch]:
        if is_greedy:
            return self._sampling.plan_greedy(num_rows, logits.grid[0])
        return self._sampling.plan(num_rows)


class Decoder:
    """Runs the rows of a batch step by step.

    `graph_of` captures a shape once; `bucket_of` is the context of a graph for a length;
    `room_of` the positions that a slot has pages for. Without `looks_ahead` no step is asked for
    early: a state of linear layers cannot be moved back.
    """

    def __init__(
        self,
        launcher: Launcher,
        state: StepState,
        room_of: Callable[[int], int],
        graph_of: Callable[[DecodeShape | DrawShape], Any],
        bucket_of: Callable[[int], int],
        looks_ahead: bool = True,
    ) -> None:
        self._launcher, self._state = launcher, state
        self._room_of = room_of
        self._graph_of, self._bucket_of = graph_of, bucket_of
        self._looks_ahead = looks_ahead
        self._rows: list[DecodeRow] = []  # of the last step, as they stood before it
        self._token_ids: list[int] = []  # and what it drew
        self._num_asked = self._num_read = 0  # steps of the device, and those the host has seen

    def run(self, rows: Sequence[DecodeRow]) -> list[int]:
        """The token behind each of 1 to 8 rows; the samplers do not know it yet.

        -1 where the logits were not finite.
        """
        if not self._is_continued_by(rows):
            self._begin(rows)
        self._rows = list(rows)
        self._ask(1)
        return self._read()

    def draw(self, row: DecodeRow) -> int:
        """The token behind a row that has run: its logits stand in the buffers' first row.

        -1 where they are not finite.
        """
        self._begin([row])
        self._rows = [row]
        self._replay(DrawShape(is_greedy(row.sampler.params)))
        (token_id,) = self._read()
        return token_id

    def forget(self) -> None:
        """The next batch begins afresh: something else has used what the device keeps."""
        self._rows, self._token_ids = [], []

    def forget_slot(self, slot: int) -> None:
        """`forget`, if the last batch had the slot: what was asked ahead has used its old pages."""
        if any(row.slot == slot for row in self._rows):
            self.forget()

    def _begin(self, rows: Sequence[DecodeRow]) -> None:
        self._num_read = self._num_asked  # what was asked ahead is of no use
        self._state.begin(list(rows), _padded(len(rows)), self._num_asked + 1)

    def _read(self) -> list[int]:
        """The tokens of the first step that was not read; the step behind it is asked for."""
        if self._looks_ahead:
            self._ask(2)
        num_rows, sequence = len(self._rows), self._num_read + 1
        self._launcher.wait_until(lambda: self._state.has_arrived(num_rows, sequence))
        self._token_ids = self._state.tokens(num_rows, sequence)
        self._num_read = sequence
        return self._token_ids

    def _is_continued_by(self, rows: Sequence[DecodeRow]) -> bool:
        if len(rows) != len(self._rows):
            return False
        pairs = zip(self._rows, self._token_ids, rows, strict=True)
        return all(_continues(before, token_id, row) for before, token_id, row in pairs)

    def _ask(self, num_steps: int) -> None:
        """So many steps are under way or ahead of the last token read, if rows have room."""
        has_room = all(row.position + num_steps <= self._room_of(row.slot) for row in self._rows)
        if self._num_asked - self._num_read >= num_steps or not has_room:
            return
        longest = max(row.position for row in self._rows) + num_steps
        all_greedy = all(is_greedy(row.sampler.params) for row in self._rows)
        num_rows = _padded(len(self._rows))
        self._replay(DecodeShape(num_rows, self._bucket_of(longest), all_greedy))

    def _replay(self, shape: DecodeShape | DrawShape) -> None:
        self._launcher.replay(self._graph_of(shape))
        self._num_asked += 1


def _continues(before: DecodeRow, token_id: int, row: DecodeRow) -> bool:
    """Whether `row` is what the device goes on with behind `before`."""
    return (
        row.sampler is before.sampler
        and row.slot == before.slot
        and row.position == before.position + 1
        and row.token_id == token_id
    )


def _padded(num_rows: int) -> int:
    return next(count for count in _PADDED_ROWS if count >= num_rows)
