"""The list of native checkpoints on this disk, read off the GUI thread."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal


class LibraryController(QObject):
    """Lists and removes native checkpoints.

    Signals (all on the GUI thread):
        entries_changed(tuple[LibraryEntry, ...]): the whole list (`app.hub.library`), sorted by
            name.
        failed(ErrorInfo)
    """

    entries_changed = Signal(object)
    failed = Signal(object)

    def __init__(self, library_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        raise NotImplementedError

    def refresh(self) -> None:
        """Reads the library again; answered by `entries_changed` or `failed`."""
        raise NotImplementedError

    def remove(self, name: str) -> None:
        """Deletes one checkpoint from the disk; answered by `entries_changed` or `failed`."""
        raise NotImplementedError

    def shutdown(self) -> None:
        """Waits for what runs; call once before the application quits."""
        raise NotImplementedError
