"""Device memory in few large pieces: the driver rounds each to 2 MiB, a model has hundreds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.engine.executors.cuda.launcher import Buffer, aligned_bytes

# What cudaMalloc rounds to on every card from sm_80 on.
PIECE_BYTES = 2 << 20


@dataclass(slots=True)
class _Piece:
    address: int
    num_bytes: int
    used_bytes: int = 0

    @property
    def left_bytes(self) -> int:
        return self.num_bytes - self.used_bytes


class Arena:
    """Hands out parts of pieces one after the other; nothing is given back before `close`.

    `allocate` takes bytes and returns an address; `free` takes that address.
    """

    def __init__(self, allocate: Callable[[int], int], free: Callable[[int], None]) -> None:
        self._allocate_piece, self._free_piece = allocate, free
        self._pieces: list[_Piece] = []

    @property
    def num_bytes(self) -> int:
        """Taken from the device."""
        return sum(piece.num_bytes for piece in self._pieces)

    def reserve(self, num_bytes: int) -> None:
        """A piece of at least so many bytes."""
        size = -(-num_bytes // PIECE_BYTES) * PIECE_BYTES
        self._pieces.append(_Piece(self._allocate_piece(size), size))

    def allocate(self, num_bytes: int) -> Buffer:
        """From the first piece that has room, else from a new one."""
        size = aligned_bytes(num_bytes)
        piece = next((piece for piece in self._pieces if piece.left_bytes >= size), None)
        if piece is None:
            self.reserve(size)
            piece = self._pieces[-1]
        buffer = Buffer(piece.address + piece.used_bytes, num_bytes)
        piece.used_bytes += size
        return buffer

    def close(self) -> None:
        """Gives all pieces back."""
        while self._pieces:
            self._free_piece(self._pieces.pop().address)
