"""Buffers cut into equal parts, one for each page of the cache, or for each slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.engine.executors.cuda.launcher import Buffer, Launcher

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Striped:
    """A buffer of parts that follow each other."""

    buffer: Buffer
    part_bytes: int

    def part(self, index: int) -> Buffer:
        """The part of one page or slot."""
        return replace(self.buffer.skip(index * self.part_bytes), num_bytes=self.part_bytes)


class Parts:
    """What several buffers have of one page, or slot, as one."""

    def __init__(self, launcher: Launcher, striped: Sequence[Striped]) -> None:
        self._launcher, self._striped = launcher, striped

    @property
    def num_bytes(self) -> int:
        """Of one page or slot."""
        return sum(each.part_bytes for each in self._striped)

    def copy(self, source: int, target: int) -> None:
        """On the device, behind all that was asked before."""
        for each in self._striped:
            self._launcher.copy(each.part(source), each.part(target))

    def read(self, index: int) -> Bytes:
        """[num_bytes], buffer by buffer, when all before it is done."""
        data = np.empty(self.num_bytes, np.uint8)
        for part, piece in self._pairs(index, data):
            self._launcher.download(part, piece)
        return data

    def write(self, index: int, data: Bytes) -> None:
        """Replaces what `read` gave."""
        for part, piece in self._pairs(index, data):
            self._launcher.upload(piece, part)

    def _pairs(self, index: int, data: Bytes) -> Iterator[tuple[Buffer, Bytes]]:
        ends = np.cumsum([each.part_bytes for each in self._striped])
        pieces = np.split(data, ends[:-1])
        return zip((each.part(index) for each in self._striped), pieces, strict=True)
