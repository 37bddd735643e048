"""Guesses from a text's past, and what they are worth after each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.ngram_proposer import NgramProposer


def test_what_followed_the_same_three_tokens_is_proposed() -> None:
    proposer = NgramProposer([1, 2, 3, 4, 5, 6, 1, 2, 3])
    assert proposer.propose(3) == [4, 5, 6]
    proposer.append(4)
    assert proposer.propose(2) == [5, 6]


def test_the_last_place_counts() -> None:
    assert NgramProposer([1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3]).propose(1) == [5]


def test_a_place_that_reaches_the_end_repeats() -> None:
    assert NgramProposer([7, 8, 7, 8, 7]).propose(4) == [8, 7, 8, 7]
    assert NgramProposer([9, 9, 9, 9]).propose(3) == [9, 9, 9]


@pytest.mark.parametrize("token_ids", [[], [1], [1, 2, 3], [1, 2, 3, 4, 1, 2, 5, 3]])
def test_nothing_is_made_up(token_ids: list[int]) -> None:
    assert NgramProposer(token_ids).propose(7) == []


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(0, 7))
def test_a_proposal_is_what_a_search_from_the_end_finds(token_ids: list[int], length: int) -> None:
    last = len(token_ids) - 3
    starts = [i + 3 for i in range(last) if token_ids[i : i + 3] == token_ids[last:]]
    found = list(token_ids)
    for offset in range(length if starts else 0):
        found.append(found[starts[-1] + offset])
    assert NgramProposer(token_ids).propose(length) == found[len(token_ids) :]


def test_the_rate_follows_what_held() -> None:
    proposer = NgramProposer([])
    first = proposer.rate
    for _ in range(20):
        proposer.record(3, 3)
    assert proposer.rate > 0.95
    for _ in range(20):
        proposer.record(7, 0)
    assert proposer.rate < 0.05
    for _ in range(500):
        proposer.record(0, 0)
    assert proposer.rate == pytest.approx(first, abs=0.01)


def test_a_failed_guess_counts_once() -> None:
    """Those behind it were never tried."""
    one, seven = NgramProposer([]), NgramProposer([])
    one.record(1, 0)
    seven.record(7, 0)
    assert one.rate == seven.rate
