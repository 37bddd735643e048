"""What could go, largest first: suggestions, each with its reason; nothing goes by itself."""

from __future__ import annotations

from collections.abc import Iterable

from app.core.library_events import FreeUp, FreeUpReason, ItemKind, ItemPlace, LibraryItem
from app.library.own_items import REMOVED_PREFIX

OLD_DOWNLOAD_DAYS = 7
_DAY_S = 86_400.0


def suggest(items: Iterable[LibraryItem], now_s: float) -> tuple[FreeUp, ...]:
    """Of everything that nobody uses now."""
    reasons = ((item, _reason(item, now_s)) for item in items if not item.busy)
    found = [FreeUp(reason, item) for item, reason in reasons if reason is not None]
    return tuple(sorted(found, key=lambda one: -one.item.size_bytes))


def _reason(item: LibraryItem, now_s: float) -> FreeUpReason | None:
    match item.kind:
        case ItemKind.SOURCE if item.checkpoint is not None and item.is_verified:
            return FreeUpReason.CONVERTED
        case ItemKind.DOWNLOAD if now_s - item.used_s > OLD_DOWNLOAD_DAYS * _DAY_S:
            return FreeUpReason.OLD_DOWNLOAD
        case ItemKind.OTHER if item.place is ItemPlace.HUB and item.commit and not item.refs:
            return FreeUpReason.OLD_REVISION
        case ItemKind.CONVERSION:
            return FreeUpReason.CONVERSION
        case ItemKind.DAMAGED if item.path.name.startswith(REMOVED_PREFIX):
            return FreeUpReason.LEFTOVER
    return None
