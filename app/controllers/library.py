"""The list of native checkpoints in the library, read off the GUI thread."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.controllers.function_queue import FunctionQueue

if TYPE_CHECKING:
    from app.hub.library import LibraryEntry


class LibraryController(QObject):
    """Lists native checkpoints, one task after another; what becomes of them is `disk`'s.

    Signals (all on the GUI thread):
        entries_changed(tuple[LibraryEntry, ...]): the whole list (`app.hub.library`), sorted by
            name.
        failed(ErrorInfo)
    """

    entries_changed = Signal(object)
    failed = Signal(object)

    def __init__(self, library_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library_dir = library_dir
        self._tasks = FunctionQueue(self)
        self._tasks.returned.connect(self.entries_changed)
        self._tasks.errored.connect(self.failed)

    def refresh(self) -> None:
        """Reads the library again; answered by `entries_changed` or `failed`."""
        self._tasks.add(partial(_list, self._library_dir))

    def set_library_dir(self, library_dir: Path) -> None:
        """The library was moved; it is read again."""
        self._library_dir = library_dir
        self.refresh()

    def shutdown(self) -> None:
        """Waits for what runs; call once before the application quits."""
        self._tasks.clear()
        self._tasks.shutdown()


# Imported on the thread: NumPy comes with it, a third of a second before the first paint.


def _list(library_dir: Path) -> tuple[LibraryEntry, ...]:
    from app.hub.library import list_entries

    return list_entries(library_dir)
