"""What is on this disk, for the window: looked at and changed in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance, Slot

from app.controllers.story import Story
from app.controllers.worker_link import WorkerLink, describe_death
from app.core.events import Event, JobCancelled, JobFailed, WorkerDied
from app.core.library_events import (
    ItemsRemoved,
    ItemsRestored,
    LibraryItem,
    LibraryMoved,
    LibraryScanned,
    MoveProgressed,
    Removed,
    RevealFailed,
    ScanFailed,
    TrashMissing,
    VerifyFinished,
    VerifyProgressed,
)
from app.core.paths import library_dir
from app.core.sentence import Sentence
from app.core.settings_store import SettingsStore
from app.workers.commands import CancelJob, Command
from app.workers.library_commands import (
    ForgetMove,
    MoveLibrary,
    RemoveItems,
    RestoreItems,
    RevealPath,
    ScanLibrary,
    VerifyItem,
)

# Until the process gives its memory back; the next look starts it again within a second.
_IDLE_MS = 30_000
_BEGINNINGS = ("verify_begun", "move_begun")
_PROGRESSED = ("verify_progressed", "move_progressed")
_TOLD = (*_BEGINNINGS, *_PROGRESSED, "verified")
_DEATH = Sentence("The process that looks after the library ended unexpectedly.")


class DiskWork(StrEnum):
    """What runs beside scans; buttons bind to it."""

    NONE = "none"
    VERIFYING = "verifying"
    REMOVING = "removing"
    MOVING = "moving"


class DiskController(QObject):
    """Scans this disk, and verifies, removes, restores and moves what is on it: one at a time.

    `story` tells a page that is built later of the last verification or move.

    Signals (all on the GUI thread):
        scanning_changed(bool)
        scanned(LibraryScanned): several times, the last one complete.
        work_changed(DiskWork)
        verify_begun(LibraryItem), verify_progressed(VerifyProgressed), verified(VerifyFinished)
        removed(ItemsRemoved), trash_missing(TrashMissing), restored(ItemsRestored)
        move_begun(Path), move_progressed(MoveProgressed)
        moved(Path, Path): from and to; the settings say so already.
        cancelled(DiskWork): what has been done of it stays.
        failed(ErrorInfo)
    """

    scanning_changed = Signal(bool)
    scanned = Signal(object)
    work_changed = Signal(object)
    verify_begun = Signal(object)
    verify_progressed = Signal(object)
    verified = Signal(object)
    removed = Signal(object)
    trash_missing = Signal(object)
    restored = Signal(object)
    move_begun = Signal(object)
    move_progressed = Signal(object)
    moved = Signal(object, object)
    cancelled = Signal(object)
    failed = Signal(object)

    def __init__(
        self,
        library_dir: Path,
        settings: SettingsStore,
        parent: QObject | None = None,
        *,
        service: str = "library",
    ) -> None:
        super().__init__(parent)
        self.story = Story(self, _TOLD, beginnings=_BEGINNINGS, latest=_PROGRESSED)
        self._library_dir, self._settings = library_dir, settings
        self._work, self._is_scanning = DiskWork.NONE, False
        self._link = WorkerLink(service, self)
        self._link.event_received.connect(self._on_link_event_received)
        self._idle = QTimer(self)
        self._idle.setSingleShot(True)
        self._idle.setInterval(_IDLE_MS)
        self._idle.timeout.connect(self._on_idle_timeout)

    @property
    def library_dir(self) -> Path:
        """Where the checkpoints are."""
        return self._library_dir

    @property
    def work(self) -> DiskWork:
        """What `work_changed` told last."""
        return self._work

    @property
    def is_scanning(self) -> bool:
        """What `scanning_changed` told last."""
        return self._is_scanning

    @property
    def folders(self) -> tuple[Path, ...]:
        """Further folders whose models are listed."""
        lines = self._settings.values.source_folders.splitlines()
        return tuple(Path(line) for line in lines if line)

    def refresh(self) -> None:
        """Looks again; a look that is under way is given up."""
        self._follow_move()
        self._set_scanning(True)
        self._send(ScanLibrary(self._library_dir, self.folders))

    def set_folders(self, folders: Sequence[Path]) -> None:
        """Lists the models of these folders, too."""
        lines = dict.fromkeys(str(folder) for folder in folders)
        self._settings.update(source_folders="\n".join(lines))
        self.refresh()

    def verify(self, item: LibraryItem) -> None:
        """Reads every byte of an item."""
        if self._begin(DiskWork.VERIFYING):
            self.verify_begun.emit(item)
            self._send(VerifyItem(item))

    def remove(self, items: Sequence[LibraryItem], *, permanently: bool = False) -> None:
        """To the trash, or for good."""
        if items and self._begin(DiskWork.REMOVING):
            self._send(RemoveItems(tuple(items), permanently))

    def restore(self, removed: Sequence[Removed]) -> None:
        """Out of the trash."""
        if self._begin(DiskWork.REMOVING):
            self._send(RestoreItems(tuple(removed)))

    def move_library(self, target: Path) -> None:
        """All checkpoints to another folder, which becomes the library's."""
        if self._begin(DiskWork.MOVING):
            self.move_begun.emit(target)
            self._send(MoveLibrary(self._library_dir, target))

    def reveal(self, path: Path) -> None:
        """Shows it in the system's file manager."""
        self._send(RevealPath(path))

    def cancel(self) -> None:
        """Stops what runs; answered by `cancelled`, unless its end was on the way."""
        if self._work is not DiskWork.NONE:
            self._link.send(CancelJob())

    def shutdown(self) -> None:
        """Stops what runs and waits; call once before the application quits."""
        self._idle.stop()
        self._link.shutdown()

    def _follow_move(self) -> None:
        """`deepinfer library --move` may have moved it beside the window."""
        before, now = self._library_dir, library_dir()
        if now != before and self._work is not DiskWork.MOVING:
            self._library_dir = now
            self.moved.emit(before, now)

    def _begin(self, work: DiskWork) -> bool:
        """False while something else runs."""
        if self._work is not DiskWork.NONE:
            return False
        self._set_work(work)
        return True

    def _send(self, command: Command) -> None:
        self._idle.stop()
        self._link.send(command)
        self._rest()

    def _rest(self) -> None:
        if self._work is DiskWork.NONE and not self._is_scanning:
            self._idle.start()

    def _set_work(self, work: DiskWork) -> None:
        if work is not self._work:
            self._work = work
            self.work_changed.emit(work)
        self._rest()

    def _set_scanning(self, is_scanning: bool) -> None:
        if is_scanning is not self._is_scanning:
            self._is_scanning = is_scanning
            self.scanning_changed.emit(is_scanning)
        self._rest()

    @Slot()
    def _on_idle_timeout(self) -> None:
        self._link.end()

    @Slot(object)
    def _on_link_event_received(self, event: Event) -> None:
        match event:
            case LibraryScanned():
                self.scanned.emit(event)
                self._set_scanning(not event.is_complete)
            case VerifyProgressed():
                self.verify_progressed.emit(event)
            case MoveProgressed():
                self.move_progressed.emit(event)
            case VerifyFinished():
                self._end(self.verified, event)
            case ItemsRemoved():
                self._end(self.removed, event)
            case ItemsRestored():
                self._end(self.restored, event)
            case TrashMissing():
                self._set_work(DiskWork.NONE)
                self.trash_missing.emit(event)
            case LibraryMoved():
                self._receive_move(event)
            case JobCancelled():
                work = self._work
                self._set_work(DiskWork.NONE)
                self.cancelled.emit(work)
                self.refresh()
            case JobFailed():
                self._end(self.failed, event.error)
            case ScanFailed():
                self._set_scanning(False)
                self.failed.emit(event.error)
            case RevealFailed():
                self.failed.emit(event.error)
            case WorkerDied():
                self._receive_death(event)

    def _end(self, signal: SignalInstance, value: object) -> None:
        """Work is over, and the disk may be another."""
        self._set_work(DiskWork.NONE)
        signal.emit(value)
        self.refresh()

    def _receive_move(self, event: LibraryMoved) -> None:
        self._library_dir = event.target
        changes = {"library_dir": str(event.target)}
        last_model = Path(self._settings.values.last_model or ".")
        if last_model.is_relative_to(event.source):
            moved = event.target / last_model.relative_to(event.source)
            changes["last_model"] = str(moved)
        self._settings.update(**changes)
        self._link.send(ForgetMove())
        self._set_work(DiskWork.NONE)
        self.moved.emit(event.source, event.target)
        self.refresh()

    def _receive_death(self, event: WorkerDied) -> None:
        was_busy = self._is_scanning or self._work is not DiskWork.NONE
        self._set_scanning(False)
        self._set_work(DiskWork.NONE)
        if was_busy:
            self.failed.emit(describe_death(event, _DEATH))
