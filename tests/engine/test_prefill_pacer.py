"""How large the pieces of prompts are beside replies, from the speed of the last steps."""

from __future__ import annotations

import pytest

from app.engine.executors.base import PREFILL_CHUNK_TOKENS
from app.engine.prefill_pacer import STEP_BUDGET_S, PrefillPacer


def paced(
    token_s: float, decode_s: float = 0.02, max_pass_tokens: int | None = None
) -> PrefillPacer:
    """One that has seen steps at this speed."""
    pacer = PrefillPacer(max_pass_tokens)
    for _ in range(5):
        pacer.record(0, 3, decode_s)
        pacer.record(40, 3, decode_s + 40 * token_s)
    return pacer


@pytest.mark.parametrize(
    ("token_s", "piece"), [(0.05, 8), (0.005, 16), (0.001, 96), (0.0001, 128), (0.0, 128)]
)
def test_a_piece_takes_what_replies_may_wait(token_s: float, piece: int) -> None:
    """At least eight tokens, so that a prompt ends."""
    assert paced(token_s).piece_tokens(3) == piece
    assert piece == 8 or piece * token_s <= STEP_BUDGET_S


def test_prompts_and_replies_keep_to_one_pass() -> None:
    pacer = paced(0.0001, max_pass_tokens=128)
    assert [pacer.piece_tokens(n) for n in (0, 1, 8)] == [128, 127, 120]


def test_without_replies_a_piece_is_whole() -> None:
    assert paced(0.05).piece_tokens(0) == PREFILL_CHUNK_TOKENS


def test_before_there_is_a_speed_the_first_piece_is_small() -> None:
    assert PrefillPacer().piece_tokens(1) == 16


def test_one_step_that_compiled_something_changes_nothing() -> None:
    pacer = paced(0.001)
    pacer.record(96, 3, 30.0)
    assert pacer.piece_tokens(3) == 96


def test_a_machine_that_has_become_slower_gets_smaller_pieces() -> None:
    pacer = paced(0.001)
    for _ in range(3):
        pacer.record(96, 3, 0.02 + 96 * 0.004)
    assert pacer.piece_tokens(3) == 24


def test_a_few_tokens_tell_nothing_of_many() -> None:
    pacer = paced(0.001)
    for _ in range(5):
        pacer.record(3, 0, 0.5)
    assert pacer.piece_tokens(3) == 96
