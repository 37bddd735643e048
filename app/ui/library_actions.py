"""What can be done with an item of the library, the likeliest first."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QCoreApplication

from app.core.library_events import ItemKind, ItemPlace, LibraryItem

translate = QCoreApplication.translate


class LibraryAction(StrEnum):
    """One thing that a button, the menu and a key may do."""

    CHAT = "chat"
    CONVERT = "convert"
    RESUME = "resume"
    FETCH_AGAIN = "fetch_again"
    VALIDATE = "validate"
    VERIFY = "verify"
    REVEAL = "reveal"
    REMOVE = "remove"


def actions_for(item: LibraryItem) -> tuple[LibraryAction, ...]:
    """What makes sense for this item."""
    a = LibraryAction
    always = (a.REVEAL, a.REMOVE)
    is_cached = item.place is ItemPlace.HUB
    verify = (a.VERIFY,) if is_cached else ()
    match item.kind:
        case ItemKind.CHECKPOINT:
            return (a.CHAT, a.VERIFY, a.VALIDATE, *always)
        case ItemKind.SOURCE:
            first = (a.CHAT, a.CONVERT) if item.checkpoint else (a.CONVERT,)
            return (*first, a.VALIDATE, *verify, *always)
        case ItemKind.DOWNLOAD:
            return (a.RESUME, *always) if is_cached else always
        case ItemKind.CONVERSION:
            return (a.RESUME, *always)
        case ItemKind.DAMAGED if item.place is ItemPlace.FOLDER and not item.files:
            return (a.REVEAL,)
        case ItemKind.DAMAGED if is_cached:
            return (a.FETCH_AGAIN, *verify, *always)
        case ItemKind.DAMAGED if item.place is ItemPlace.LIBRARY and item.path.name[:1] != ".":
            return (a.VERIFY, *always)
        case ItemKind.OTHER if is_cached:
            return (*verify, *always)
    return always


def action_label(action: LibraryAction) -> str:
    """What the button says."""
    labels = {
        LibraryAction.CHAT: translate("Library", "Chat with it"),
        LibraryAction.CONVERT: translate("Library", "Convert"),
        LibraryAction.RESUME: translate("Library", "Go on"),
        LibraryAction.FETCH_AGAIN: translate("Library", "Fetch again"),
        LibraryAction.VALIDATE: translate("Library", "Validate"),
        LibraryAction.VERIFY: translate("Library", "Verify"),
        LibraryAction.REVEAL: translate("Library", "Show in folder"),
        LibraryAction.REMOVE: translate("Library", "Remove…"),
    }
    return labels[action]


def action_help(action: LibraryAction) -> str:
    """What it does, for a tool tip."""
    texts = {
        LibraryAction.CHAT: translate("Library", "Loads it and opens a new conversation (Enter)"),
        LibraryAction.CONVERT: translate("Library", "Plans a conversion into the library"),
        LibraryAction.RESUME: translate("Library", "Goes on from what is on the disk"),
        LibraryAction.FETCH_AGAIN: translate(
            "Library", "Removes the broken files and downloads them once more"
        ),
        LibraryAction.VALIDATE: translate("Library", "Holds it to the reference implementation"),
        LibraryAction.VERIFY: translate("Library", "Reads every byte and compares its digests"),
        LibraryAction.REVEAL: translate("Library", "Opens the file manager (Ctrl+Shift+E)"),
        LibraryAction.REMOVE: translate("Library", "Moves it to the trash, after asking (Del)"),
    }
    return texts[action]
