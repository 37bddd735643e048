"""What is on this disk, in a child process: thousands of files must not hold up a window."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.core.errors import JobCancelledError
from app.core.events import Event
from app.core.jobs import CancelToken, cancellable_by
from app.core.library_events import (
    ItemsRemoved,
    ItemsRestored,
    LibraryItem,
    LibraryMoved,
    MoveProgressed,
    Removed,
    RevealFailed,
    ScanFailed,
    TrashMissing,
    VerifyProgressed,
)
from app.library.move import forget_move, move_library
from app.library.removal import plan_removal, remove, restore
from app.library.reveal import reveal
from app.library.scan import Roots, scan
from app.library.trash import SystemTrash, Trash, TrashMissingError
from app.library.verify import verify
from app.workers.child import Listener
from app.workers.commands import CancelJob, Command
from app.workers.job_thread import JobThread
from app.workers.library_commands import (
    ForgetMove,
    MoveLibrary,
    RemoveItems,
    RestoreItems,
    RevealPath,
    ScanLibrary,
    VerifyItem,
)
from app.workers.priority import step_back

_TICK_S = 0.1


class LibraryService:
    """Scans on one thread, shows things on another, and on a third one everything else, one job
    after another: only of those the end is JobFailed or JobCancelled."""

    def __init__(self, listener: Listener, trash: Trash | None = None) -> None:
        self._listener = listener
        self._trash = trash or SystemTrash()
        self._scans, self._jobs = JobThread(listener, "scan"), JobThread(listener, "library")
        self._reveals = JobThread(listener, "reveal")
        self._scan_cancel, self._cancel = CancelToken(), CancelToken()

    def handle(self, command: Command) -> None:
        """Begins a scan or a job, or cancels the job begun last."""
        match command:
            case ScanLibrary():
                self._begin_scan(command)
            case VerifyItem():
                self._begin(partial(self._verify, command.item))
            case RemoveItems():
                self._begin(partial(self._remove, command))
            case RestoreItems():
                self._begin(partial(self._restore, command.removed))
            case MoveLibrary():
                self._begin(partial(self._move, command.source, command.target))
            case ForgetMove():
                self._jobs.run_later(forget_move)
            case RevealPath():
                self._reveals.begin(partial(_reveal, command.path), RevealFailed)
            case CancelJob():
                self._cancel.cancel()
            case _:
                raise TypeError(f"{command} is no command for the library.")

    def close(self) -> None:
        """Cancels and waits."""
        self._scan_cancel.cancel()
        self._cancel.cancel()
        self._scans.close()
        self._reveals.close()
        self._jobs.close()

    def _begin_scan(self, command: ScanLibrary) -> None:
        self._scan_cancel.cancel()
        self._scan_cancel = cancel = CancelToken()
        roots = Roots(command.library_dir, command.folders)

        def run() -> Event | None:
            try:
                with cancellable_by(cancel):
                    return scan(roots, self._listener)
            except JobCancelledError:
                return None  # another one follows

        self._scans.begin(run, ScanFailed)

    def _begin(self, job: Callable[[], Event | None]) -> None:
        self._cancel = cancel = CancelToken()

        def run() -> Event | None:
            with cancellable_by(cancel):
                cancel.check()
                return job()

        self._jobs.begin(run)

    def _verify(self, item: LibraryItem) -> Event:
        done, told_s = 0, 0.0

        def tell(path: Path, num_bytes: int) -> None:
            nonlocal done, told_s
            done += num_bytes
            if time.monotonic() - told_s >= _TICK_S:
                told_s = time.monotonic()
                self._listener(VerifyProgressed(item.key, path.name, done, item.size_bytes))

        return verify(item, tell)

    def _remove(self, command: RemoveItems) -> Event:
        trash = None if command.permanently else self._trash
        removed, freed = list[Removed](), 0
        plans = [(item, plan_removal(item)) for item in command.items]
        for item, plan in plans:
            try:
                removed.append(remove(item, plan, trash))
            except TrashMissingError as error:
                if removed:
                    break  # those that went are told; the others are asked for once more
                return TrashMissing(command.items, error.message)
            freed += plan.num_bytes
        can_restore = trash is not None and trash.can_restore
        return ItemsRemoved(tuple(removed), freed, trash is not None, can_restore)

    def _restore(self, removed: tuple[Removed, ...]) -> Event:
        for one in removed:
            restore(one, self._trash)
        return ItemsRestored(tuple(one.item.name for one in removed))

    def _move(self, source: Path, target: Path) -> Event:
        told_s = 0.0

        def tell(name: str, done_bytes: int, total_bytes: int) -> None:
            nonlocal told_s
            if time.monotonic() - told_s >= _TICK_S or done_bytes == total_bytes:
                told_s = time.monotonic()
                self._listener(MoveProgressed(name, done_bytes, total_bytes))

        names = move_library(source, target, tell)
        return LibraryMoved(source, target.absolute(), names)


def _reveal(path: Path) -> None:
    reveal(path)


def create_service(listener: Listener) -> LibraryService:
    """Looks at nothing by itself."""
    step_back()
    return LibraryService(listener)
