"""What a scan knows about everything: uses, holds, and which checkpoints were made of what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.core.holds import find_purpose, read_holds
from app.core.library_events import ItemKind, LibraryItem
from app.hub.library import LibraryEntry
from app.library.last_use import last_use, loaded_at
from app.library.recognition import Recognised, Recogniser


@dataclass(slots=True)
class Context:
    """Made anew for each scan; `entries` are filled in while the library is read."""

    holds: dict[Path, str] = field(default_factory=read_holds)
    uses: dict[str, float] = field(default_factory=loaded_at)
    recogniser: Recogniser = field(default_factory=Recogniser)
    entries: dict[tuple[str, int], LibraryEntry] = field(default_factory=dict)

    def add_entry(self, entry: LibraryEntry) -> None:
        """A checkpoint; of several made of one source, the verified one counts."""
        key = (entry.source_name, entry.source_bytes)
        if key not in self.entries or entry.is_verified:
            self.entries[key] = entry

    def with_use(self, item: LibraryItem, files: Iterable[Path]) -> LibraryItem:
        """Says when it was used last, and what it is busy with."""
        used_s, how = last_use(files, self.uses.get(str(item.path.resolve())))
        return replace(item, used_s=used_s, last_use=how, busy=self.find_busy(item))

    def find_busy(self, item: LibraryItem) -> str:
        """What the item, or one of its files, is held for; '' for nothing."""
        paths = (item.path, *item.files)
        return next(filter(None, (find_purpose(path, self.holds) for path in paths)), "")

    def described(self, item: LibraryItem, found: Recognised) -> LibraryItem:
        """A source with what was found out by opening it."""
        entry = self.entries.get((found.name, found.num_bytes)) if not found.problem else None
        kind = item.kind
        if found.problem:
            kind = ItemKind.DAMAGED if found.is_damaged else ItemKind.OTHER
        return replace(
            item,
            kind=kind,
            architecture=found.architecture,
            grid=found.grid,
            problem=found.problem,
            checkpoint=entry.path if entry else None,
            is_verified=entry.is_verified if entry else False,
        )
