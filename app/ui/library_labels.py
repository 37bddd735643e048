"""What kinds, places, uses and suggestions of the Library page are called."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QCoreApplication

from app.core.library_events import FreeUpReason, ItemKind, ItemPlace, LastUse, LibraryItem
from app.ui.formats import format_moment

translate = QCoreApplication.translate


def kind_label(kind: ItemKind) -> str:
    """The heading of a group."""
    labels = {
        ItemKind.CHECKPOINT: translate("Library", "Ready to chat"),
        ItemKind.SOURCE: translate("Library", "Can be converted"),
        ItemKind.DOWNLOAD: translate("Library", "Incomplete downloads"),
        ItemKind.CONVERSION: translate("Library", "Interrupted conversions"),
        ItemKind.DAMAGED: translate("Library", "Damaged"),
        ItemKind.OTHER: translate("Library", "Of no use here"),
    }
    return labels[kind]


def place_label(item: LibraryItem) -> str:
    """Where it lies, in one or two words and its name there."""
    if item.place is ItemPlace.HUB:
        revision = ", ".join(item.refs) or item.commit[:7]
        return f"{item.repo_id} @ {revision}" if revision else item.repo_id
    if item.place is ItemPlace.LIBRARY:
        return translate("Library", "Library")
    return str(item.path if item.path.is_absolute() and not item.files else item.path.parent)


def use_label(item: LibraryItem) -> str:
    """When it was used last, short; '' where nobody knows."""
    if not item.used_s:
        return ""
    moment = datetime.fromtimestamp(item.used_s).astimezone()
    return format_moment(moment, datetime.now().astimezone())


def use_help(item: LibraryItem) -> str:
    """What that time tells."""
    if not item.used_s:
        return ""
    texts = {
        LastUse.LOADED: translate("Library", "Loaded here {when}"),
        LastUse.READ: translate("Library", "Read {when}, as the file system says"),
        LastUse.CHANGED: translate("Library", "Changed {when}; when it was read is not known"),
    }
    return texts[item.last_use].format(when=use_label(item))


def grid_text(item: LibraryItem) -> str:
    """`W4, lossless`, `Q4_K`, `GPTQ`."""
    grid = item.grid.upper() if item.grid.islower() else item.grid
    if item.kind is ItemKind.CONVERSION and not grid[-1:].isdigit():
        return item.grid
    if item.kind is ItemKind.CHECKPOINT and item.is_lossless:
        return translate("Library", "{grid}, lossless").format(grid=grid)
    return grid


def family_label(architecture: str) -> str:
    """`Llama` of `LlamaForCausalLM`: the last part says the same of all."""
    for ending in ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration"):
        architecture = architecture.removesuffix(ending)
    return architecture


def reason_label(reason: FreeUpReason) -> str:
    """Why something need not stay."""
    texts = {
        FreeUpReason.CONVERTED: translate("Library", "converted; its checkpoint is verified"),
        FreeUpReason.OLD_DOWNLOAD: translate("Library", "nobody went on with it for a week"),
        FreeUpReason.OLD_REVISION: translate("Library", "an older revision"),
        FreeUpReason.CONVERSION: translate("Library", "an interrupted conversion"),
        FreeUpReason.LEFTOVER: translate("Library", "left behind by a removal"),
    }
    return texts[reason]
