"""The scale search: the error it saves, measured; signs, ends, zeros, extreme magnitudes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.converter.grid_search import code_range, round_to_grid, search_scales

Floats = npt.NDArray[np.float32]
GAUSS = np.random.default_rng(0).normal(size=1 << 18).astype(np.float32)
STUDENT = np.random.default_rng(0).standard_t(5, size=1 << 18).astype(np.float32)


def _error(weights: Floats, scales: Floats, bits: int) -> float:
    decoded = round_to_grid(weights, scales, bits)[0] * scales[:, None].astype(np.float64)
    weights = weights.astype(np.float64)  # squares of the tiniest would vanish in float32
    return float(np.linalg.norm(decoded - weights) / np.linalg.norm(weights))


def _absmax_scales(weights: Floats, bits: int) -> Floats:
    return np.abs(weights).max(axis=1) / np.float32(code_range(bits)[1])


def _exhaustive_scales(weights: Floats, bits: int) -> Floats:
    """The best of a fine sweep over both signs, by squared error alone."""
    best, scales = np.full(len(weights), np.inf), np.zeros(len(weights), np.float32)
    for level in np.linspace(0.6, 2.2, 161, dtype=np.float32) * code_range(bits)[1]:
        for sign in (1, -1):
            tried = (sign * np.abs(weights).max(axis=1) / level).astype(np.float32)
            error = np.square(
                round_to_grid(weights, tried, bits)[0] * tried[:, None] - weights
            ).sum(axis=1)
            scales = np.where(error < best, tried, scales)
            best = np.minimum(best, error)
    return scales


# Relative error ||dW|| / ||W||: of plain absmax / (2^(b-1) - 1), and of the search.
@pytest.mark.parametrize(
    ("values", "bits", "group", "absmax", "searched"),
    [
        (GAUSS, 4, 128, 0.117, 0.097),
        (GAUSS, 4, 64, 0.107, 0.090),
        (GAUSS, 4, 32, 0.097, 0.081),
        (GAUSS, 3, 128, 0.268, 0.186),
        (GAUSS, 3, 32, 0.224, 0.163),
        (STUDENT, 4, 128, 0.171, 0.140),
        (STUDENT, 4, 32, 0.122, 0.103),
        (STUDENT, 3, 128, 0.387, 0.251),
        (GAUSS, 8, 128, 0.0064, 0.0063),
    ],
)
def test_the_search_beats_absmax(
    values: Floats, bits: int, group: int, absmax: float, searched: float
) -> None:
    weights = values.reshape(-1, group)
    assert _error(weights, _absmax_scales(weights, bits), bits) == pytest.approx(absmax, rel=0.03)
    assert _error(weights, search_scales(weights, bits), bits) == pytest.approx(searched, rel=0.01)


@pytest.mark.parametrize("bits", [3, 4])
@pytest.mark.parametrize("values", [GAUSS, STUDENT], ids=["gauss", "student"])
def test_a_few_candidates_come_close_to_an_exhaustive_search(values: Floats, bits: int) -> None:
    weights = values[: 1 << 15].reshape(-1, 64)
    best = _error(weights, _exhaustive_scales(weights, bits), bits)
    assert _error(weights, search_scales(weights, bits), bits) <= 1.01 * best


@pytest.mark.parametrize("extreme", [8.0, -8.0])
def test_the_sign_puts_the_extreme_weight_on_the_long_end(extreme: float) -> None:
    weights = np.array([[extreme, -7, 7, 3, -2, 0, 1, 5] * 4], np.float32)
    scales = search_scales(weights, 4)
    assert scales[0] == pytest.approx(-np.sign(extreme), rel=1e-5)
    assert _error(weights, scales, 4) < 1e-5


@settings(deadline=None)
@given(
    bits=st.sampled_from([3, 4, 8]),
    seed=st.integers(0, 2**32 - 1),
    exponent=st.integers(-30, 14),
)
def test_weights_on_a_grid_are_found_given_its_scale(bits: int, seed: int, exponent: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = code_range(bits)
    codes = rng.integers(low, high + 1, (6, 32))
    codes[:, 0] = rng.choice([-1, 1], 6)  # no group of zeros
    scales = (rng.normal(size=6) * 10.0**exponent).astype(np.float32)
    weights = (codes * scales[:, None]).astype(np.float32)
    found = search_scales(weights, bits, scales)
    assert _error(weights, found, bits) < 1e-5


@settings(deadline=None)
@given(exponent=st.integers(-100, 45), seed=st.integers(0, 2**32 - 1))
def test_magnitude_does_not_matter(exponent: int, seed: int) -> None:
    weights = np.random.default_rng(seed).normal(size=(4, 32)).astype(np.float32)
    factor = np.float32(2.0**exponent)  # a power of two, so that nothing is rounded anew
    assert np.array_equal(search_scales(weights * factor, 4), search_scales(weights, 4) * factor)


def test_groups_of_zeros_have_scale_zero() -> None:
    weights = np.zeros((2, 32), np.float32)
    weights[1, 3] = 0.5
    scales = search_scales(weights, 4)
    assert scales[0] == 0
    assert round_to_grid(weights, scales, 4)[0][0].tolist() == [0] * 32
    assert _error(weights, scales, 4) < 1e-6


def test_a_useless_source_scale_changes_nothing() -> None:
    weights = GAUSS[:1024].reshape(-1, 32)
    for useless in (0.0, 1e30, 1e-30):
        offered = np.full(len(weights), useless, np.float32)
        assert np.array_equal(search_scales(weights, 4, offered), search_scales(weights, 4))
