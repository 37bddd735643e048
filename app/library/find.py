"""Which item a name on the command line means."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from app.core.errors import CheckpointError, UsageError
from app.core.library_events import ItemKind, LibraryItem
from app.library.context import Context
from app.library.own_items import iter_own_items
from app.library.scan import Roots, scan


def find_item(text: str, roots: Roots) -> LibraryItem:
    """A checkpoint of the library by its name; else anything on this disk by its name or path.

    Raises CheckpointError when there is no such thing, UsageError when there are several.
    """
    own = _matching(text, iter_own_items(roots.library_dir, Context()))
    found = [item for item in own if item.kind is ItemKind.CHECKPOINT] or own
    found = found or _matching(text, scan(roots).items)
    if not found:
        raise CheckpointError("{text} is not a name in the library.", text=text)
    if len(found) > 1:
        places = ", ".join(str(item.path) for item in found)
        raise UsageError("{text} may mean {places}; name one of these.", text=text, places=places)
    return found[0]


def _matching(text: str, items: Iterable[LibraryItem]) -> list[LibraryItem]:
    path = Path(text)
    return [item for item in items if item.name == text or item.path == path.absolute()]
