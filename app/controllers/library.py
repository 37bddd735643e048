"""The list of native checkpoints in the library, read off the GUI thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.threads import FunctionThread
from app.core.events import ErrorInfo

if TYPE_CHECKING:
    from app.hub.library import LibraryEntry

Task = Callable[[], "tuple[LibraryEntry, ...]"]


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
        self._tasks: deque[Task] = deque()
        self._thread: FunctionThread | None = None

    def refresh(self) -> None:
        """Reads the library again; answered by `entries_changed` or `failed`."""
        self._add(partial(_list, self._library_dir))

    def set_library_dir(self, library_dir: Path) -> None:
        """The library was moved; it is read again."""
        self._library_dir = library_dir
        self.refresh()

    def shutdown(self) -> None:
        """Waits for what runs; call once before the application quits."""
        self._tasks.clear()
        if self._thread is not None:
            self._thread.finished.disconnect(self._on_thread_finished)
            self._thread.join()
            self._thread = None

    def _add(self, task: Task) -> None:
        self._tasks.append(task)
        if self._thread is None:
            self._start_next()

    def _start_next(self) -> None:
        self._thread = FunctionThread(self._tasks.popleft(), self)
        self._thread.returned.connect(self._on_thread_returned)
        self._thread.errored.connect(self._on_thread_errored)
        self._thread.finished.connect(self._on_thread_finished)
        self._thread.start()

    @Slot(object)
    def _on_thread_returned(self, entries: tuple[LibraryEntry, ...]) -> None:
        self.entries_changed.emit(entries)

    @Slot(object)
    def _on_thread_errored(self, error: ErrorInfo) -> None:
        self.failed.emit(error)

    @Slot()
    def _on_thread_finished(self) -> None:
        if self._thread is not None:
            self._thread.deleteLater()
            self._thread = None
        if self._tasks:
            self._start_next()


# Imported on the thread: NumPy comes with it, a third of a second before the first paint.


def _list(library_dir: Path) -> tuple[LibraryEntry, ...]:
    from app.hub.library import list_entries

    return list_entries(library_dir)
