"""How many tokens are guessed at a time: none where that is slower, more where they mostly hold."""

from __future__ import annotations

import pytest

from app.engine.draft_pacer import DraftPacer


def paced(share: float, max_tokens: int = 7) -> DraftPacer:
    """One that has seen that each further row costs this share of a step."""
    pacer = DraftPacer(max_tokens)
    for num_guesses in (0, 1, 3, 7):
        for _ in range(5):
            pacer.record(num_guesses, 0.01 * (1 + share * num_guesses))
    return pacer


@pytest.mark.parametrize(
    ("share", "rate", "length"),
    [(0.0, 0.01, 7), (0.1, 0.95, 7), (0.1, 0.5, 3), (0.3, 0.4, 1), (0.3, 0.2, 0), (1.0, 0.99, 0)],
)
def test_the_length_is_what_gives_most_tokens_a_second(
    share: float, rate: float, length: int
) -> None:
    assert paced(share).length(rate) == length


def test_no_more_than_the_executor_checks() -> None:
    assert [paced(0.0, most).length(0.99) for most in (0, 1, 2, 3, 6, 7)] == [0, 1, 1, 3, 3, 7]


def test_before_steps_were_measured_a_row_is_taken_to_be_cheap() -> None:
    assert DraftPacer(7).length(0.6) == 3


def test_one_slow_step_changes_nothing() -> None:
    pacer = paced(0.1)
    pacer.record(7, 5.0)
    assert pacer.length(0.95) == 7


def test_what_was_too_slow_gets_another_try() -> None:
    """Another program may have been in the way."""
    pacer = paced(1.0)
    assert pacer.length(0.9) == 0
    for _ in range(64):
        pacer.record(0, 0.01)
    assert pacer.length(0.9) > 0
