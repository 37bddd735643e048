"""Which pages of the pool the positions of each sequence lie in."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.errors import EngineError

KV_PAGE_TOKENS = 256  # positions of a page


def pages_for(num_tokens: int) -> int:
    """How many pages so many positions take."""
    return -(-num_tokens // KV_PAGE_TOKENS)


class BlockTables:
    """A row of pages per slot: position p lies in `row[p // KV_PAGE_TOKENS]`.

    Several slots may have the same page. Without `num_pages` every slot gets pages of its own for
    `max_model_len` positions, one slot after the other; else the rows are empty at first.
    """

    def __init__(self, num_slots: int, max_model_len: int, num_pages: int | None = None) -> None:
        self.max_pages = pages_for(max_model_len)
        self.num_pages = num_slots * self.max_pages if num_pages is None else num_pages
        if self.num_pages < 1:
            raise EngineError("A pool without pages holds nothing.")
        self._rows: list[tuple[int, ...]] = [()] * num_slots
        self._changed: set[int] = set()
        if num_pages is None:
            for slot in range(num_slots):
                first = slot * self.max_pages
                self.map(slot, range(first, first + self.max_pages))

    def map(self, slot: int, pages: Sequence[int]) -> bool:
        """Replaces a slot's row; tells whether the old one stands at its beginning.

        Raises EngineError for a slot or page that does not exist, for a page that the row has
        twice, and for more pages than a context has.
        """
        row = tuple(pages)
        if not 0 <= slot < len(self._rows) or len(row) > self.max_pages:
            raise EngineError(
                "Slot {slot} cannot have {num_pages} pages.", slot=slot, num_pages=len(row)
            )
        self.check(row)
        if len(set(row)) != len(row):
            raise EngineError("Slot {slot} cannot have a page twice.", slot=slot)
        before = self._rows[slot]
        if row != before:
            self._rows[slot] = row
            self._changed.add(slot)
        return row[: len(before)] == before

    def check(self, pages: Sequence[int]) -> None:
        """Raises EngineError unless all of them are of the pool."""
        for page in pages:
            if not 0 <= page < self.num_pages:
                raise EngineError(
                    "There is no page {page} in a pool of {num_pages}.",
                    page=page,
                    num_pages=self.num_pages,
                )

    def row(self, slot: int) -> tuple[int, ...]:
        """The pages of a slot, from position 0 on."""
        return self._rows[slot]

    def num_positions(self, slot: int) -> int:
        """Of a slot's pages; the context may be shorter."""
        return len(self._rows[slot]) * KV_PAGE_TOKENS

    def take_changed(self) -> list[int]:
        """The slots whose rows have changed since the last call."""
        changed, self._changed = sorted(self._changed), set()
        return changed
