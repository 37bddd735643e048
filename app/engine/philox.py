"""Philox 4x32-10: numbers that follow from a counter and a key alone.

Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011). `kernels/cpu/src/philox.h` is
the same function.
"""

from __future__ import annotations

_LOW = 0xFFFFFFFF
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_NUM_ROUNDS = 10

Counter = tuple[int, int, int, int]


def philox_4x32(counter: Counter, key: tuple[int, int]) -> Counter:
    """Four 32-bit words from a counter of four and a key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_NUM_ROUNDS):
        a, b = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & _LOW, (a >> 32) ^ c3 ^ k1, a & _LOW
        k0, k1 = (k0 + _KEY_STEPS[0]) & _LOW, (k1 + _KEY_STEPS[1]) & _LOW
    return c0, c1, c2, c3


def random_64(seed: int, step: int) -> int:
    """The 64 random bits of one step under a 64-bit seed."""
    counter = (step & _LOW, step >> 32, 0, 0)
    first, second, *_ = philox_4x32(counter, (seed & _LOW, seed >> 32))
    return first | second << 32
