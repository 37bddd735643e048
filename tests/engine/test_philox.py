"""Philox against the known answers that Random123, its authors' library, is shipped with."""

from __future__ import annotations

import pytest

from app.engine.philox import Counter, philox_4x32, random_64

ALL = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ALL, ALL, ALL, ALL), (ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers(counter: Counter, key: tuple[int, int], expected: Counter) -> None:
    assert philox_4x32(counter, key) == expected


def test_a_step_takes_the_first_two_words_under_its_seed() -> None:
    seed, step = 0x0123456789ABCDEF, 0x1_0000_0005
    first, second, *_ = philox_4x32((5, 1, 0, 0), (0x89ABCDEF, 0x01234567))
    assert random_64(seed, step) == first + (second << 32)
