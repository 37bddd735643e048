"""Items as a scan finds them, a disk that only remembers, and hands for the page."""

from __future__ import annotations

import time
from pathlib import Path

from app.controllers.disk import DiskController
from app.core.library_events import (
    FreeUp,
    FreeUpReason,
    ItemKind,
    ItemPlace,
    LastUse,
    LibraryItem,
    LibraryScanned,
    VolumeSpace,
)
from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.ui.dialogs.remove_dialog import RemoveDialog
from app.ui.pages.library_page import LibraryPage

GIB = 1 << 30
LIBRARY = Path("/home/张三/models")
SPACE = VolumeSpace(Path("/home"), 61 * GIB, 250 * GIB)
_HUB = Path("/home/张三/hub")

CHECKPOINT = LibraryItem(
    ItemKind.CHECKPOINT,
    "团队/通义千问 2.5",
    LIBRARY / "团队" / "通义千问 2.5",
    ItemPlace.LIBRARY,
    2 * GIB,
    architecture="Qwen2ForCausalLM",
    grid="W4",
    is_lossless=True,
    used_s=time.time() - 60,
    last_use=LastUse.LOADED,
)
SMALL = LibraryItem(
    ItemKind.CHECKPOINT,
    "SmolLM2",
    LIBRARY / "SmolLM2",
    ItemPlace.LIBRARY,
    GIB // 10,
    architecture="LlamaForCausalLM",
    grid="W4",
)
SOURCE = LibraryItem(
    ItemKind.SOURCE,
    "Qwen-Q4_K_M",
    _HUB / "snapshots" / "012" / "Qwen-Q4_K_M.gguf",
    ItemPlace.HUB,
    3 * GIB,
    files=(_HUB / "snapshots" / "012" / "Qwen-Q4_K_M.gguf",),
    architecture="Qwen2ForCausalLM",
    grid="Q4_K",
    repo_id="org/Qwen-GGUF",
    commit="0123456789",
    refs=("main",),
    checkpoint=CHECKPOINT.path,
    is_verified=True,
)
DOWNLOAD = LibraryItem(
    ItemKind.DOWNLOAD, "org/big", _HUB / "big", ItemPlace.HUB, GIB, repo_id="org/big"
)
CONVERSION = LibraryItem(
    ItemKind.CONVERSION,
    "half",
    LIBRARY / "half.partial",
    ItemPlace.LIBRARY,
    GIB,
    grid="w4",
    source=Path("/sources/half.gguf"),
)
DAMAGED = LibraryItem(
    ItemKind.DAMAGED,
    "org/broken",
    _HUB / "broken" / "model.gguf",
    ItemPlace.HUB,
    GIB,
    files=(_HUB / "broken" / "model.gguf",),
    repo_id="org/broken",
    problem="model.gguf: the header is truncated.",
)
ITEMS = (SMALL, CHECKPOINT, SOURCE, DOWNLOAD, CONVERSION, DAMAGED)
FREE_UP = (
    FreeUp(FreeUpReason.CONVERTED, SOURCE),
    FreeUp(FreeUpReason.CONVERSION, CONVERSION),
)


def scanned(*items: LibraryItem, is_complete: bool = True) -> LibraryScanned:
    """A scan that found these."""
    return LibraryScanned(items, SPACE, is_complete)


class QuietDisk(DiskController):
    """Remembers what it is asked for; no process."""

    def __init__(self) -> None:
        super().__init__(LIBRARY, SettingsStore(settings_path()))
        self.asked: list[tuple[object, ...]] = []

    def refresh(self) -> None:
        self.asked.append(("refresh",))

    def verify(self, item: LibraryItem) -> None:
        self.asked.append(("verify", item))

    def remove(self, items: object, *, permanently: bool = False) -> None:
        self.asked.append(("remove", tuple(items), permanently))  # type: ignore[arg-type]

    def restore(self, removed: object) -> None:
        self.asked.append(("restore", removed))

    def reveal(self, path: Path) -> None:
        self.asked.append(("reveal", path))

    def move_library(self, target: Path) -> None:
        self.asked.append(("move", target))


def select(page: LibraryPage, *items: LibraryItem) -> None:
    """Selects exactly these."""
    page.table.clearSelection()
    page.table._select([item.key for item in items])


def remove_dialog(page: LibraryPage) -> RemoveDialog:
    """The one that is open."""
    (dialog,) = (d for d in page.findChildren(RemoveDialog) if d.isVisible())
    return dialog
