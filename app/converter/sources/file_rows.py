"""A matrix in a file, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.core.errors import InvalidSourceError
from app.core.jobs import check_cancelled
from app.core.system_reason import system_reason

Bytes = npt.NDArray[np.uint8]
BLOCK_ELEMENTS = 1 << 18  # 1 MiB once decoded to float32: stays in the second-level cache


@dataclass(frozen=True, slots=True)
class FileRows:
    """`num_rows` rows of `row_bytes` bytes from `offset` on.

    `order`, where set, is the place in the file of each row that is wanted: a row permutation of
    the format, undone here once for codes, scales and biases alike. Files are read, not mapped:
    mapped pages would count as this process's memory.
    """

    path: Path
    offset: int
    num_rows: int
    row_bytes: int
    order: npt.NDArray[np.intp] | None = None

    def read(self) -> Bytes:
        """All rows, uint8 [num_rows, row_bytes]; InvalidSourceError when the file ends early."""
        rows = self._read(0, self.num_rows)
        return rows if self.order is None else rows[self.order]

    def read_rows(self, rows: slice) -> Bytes:
        """Some rows; of a permuted matrix as few bytes as hold them are read."""
        if self.order is None:
            return self._read(rows.start, rows.stop)
        places = self.order[rows]
        start = int(places.min())
        return self._read(start, int(places.max()) + 1)[places - start]

    def iter_blocks(self, rows_per_block: int) -> Iterator[tuple[slice, Bytes]]:
        """(rows, their bytes) from first to last; JobCancelledError between two blocks.

        Permuted matrices, which only attention has, are held whole, undecoded.
        """
        whole = None if self.order is None else self.read()
        for start in range(0, self.num_rows, rows_per_block):
            check_cancelled()
            rows = slice(start, min(start + rows_per_block, self.num_rows))
            yield rows, self._read(rows.start, rows.stop) if whole is None else whole[rows]

    def _read(self, start: int, stop: int) -> Bytes:
        count = (stop - start) * self.row_bytes
        try:
            data = np.fromfile(
                self.path, np.uint8, count, offset=self.offset + start * self.row_bytes
            )
        except OSError as error:
            raise InvalidSourceError(
                "{name}: cannot be read ({reason}).",
                name=self.path.name,
                reason=system_reason(error),
                detail=repr(error),
            ) from error
        if data.size != count:
            raise InvalidSourceError(
                "{name}: the file became shorter while it was read.", name=self.path.name
            )
        return data.reshape(stop - start, self.row_bytes)


def rows_per_block(num_columns: int) -> int:
    """How many rows of `num_columns` elements make a block."""
    return max(1, BLOCK_ELEMENTS // num_columns)
