"""Device memory in pieces: no two buffers share a byte, nothing is taken twice or kept."""

from __future__ import annotations

import numpy as np
import pytest

from app.engine.executors.cuda.arena import PIECE_BYTES, Arena
from app.engine.executors.cuda.launcher import aligned_bytes


class Device:
    """Pieces at addresses far apart."""

    def __init__(self) -> None:
        self.pieces: dict[int, int] = {}
        self._next = 1 << 40

    def allocate(self, num_bytes: int) -> int:
        address, self._next = self._next, self._next + (1 << 36)
        self.pieces[address] = num_bytes
        return address

    def free(self, address: int) -> None:
        del self.pieces[address]


@pytest.fixture
def device() -> Device:
    return Device()


@pytest.fixture
def arena(device: Device) -> Arena:
    return Arena(device.allocate, device.free)


def test_buffers_are_aligned_and_apart(arena: Arena, device: Device) -> None:
    sizes = np.random.default_rng(0).integers(0, 3 << 20, 200).tolist()
    buffers = sorted((arena.allocate(size) for size in sizes), key=lambda buffer: buffer.address)
    ends = [buffer.address + max(buffer.num_bytes, 1) for buffer in buffers]
    assert all(end <= other.address for end, other in zip(ends, buffers[1:], strict=False))
    assert all(buffer.address % 256 == 0 for buffer in buffers)
    assert sorted(buffer.num_bytes for buffer in buffers) == sorted(sizes)
    for buffer, end in zip(buffers, ends, strict=True):
        piece = max(address for address in device.pieces if address <= buffer.address)
        assert end <= piece + device.pieces[piece]


def test_what_was_reserved_is_one_piece_and_enough(arena: Arena, device: Device) -> None:
    sizes = [100, 5 << 20, 1, 0, 77_777_777, 255, 257]
    arena.reserve(sum(map(aligned_bytes, sizes)))
    for size in sizes:
        arena.allocate(size)
    assert len(device.pieces) == 1
    assert arena.num_bytes - sum(map(aligned_bytes, sizes)) < PIECE_BYTES


def test_close_gives_everything_back(arena: Arena, device: Device) -> None:
    for _ in range(5):
        arena.allocate(3 << 20)
    arena.close()
    assert (device.pieces, arena.num_bytes) == ({}, 0)
