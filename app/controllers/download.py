"""Downloads for the window: a queue that survives the program, one model fetched at a time."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.controllers.hub import HubController
from app.controllers.reporting import Reporting
from app.controllers.worker_link import WorkerLink, describe_death
from app.core.download_events import (
    DownloadFinished,
    DownloadProgressed,
    OfferedModel,
    RepositoryFound,
)
from app.core.errors import HubBusyError, HubSilentError
from app.core.events import ErrorInfo, Event, JobFailed, WorkerDied, WorkerStopped
from app.core.paths import downloads_path, library_dir
from app.core.room import Need, check_room
from app.core.sentence import Sentence
from app.core.settings_store import SettingsStore
from app.hub.download_queue import DownloadQueue, QueuedDownload, QueueState
from app.hub.reference import HubReference, parse_reference
from app.workers.commands import DownloadModel

# Then the process is killed: a transfer that waits for a silent server hears nothing, and what has
# arrived stays all the same.
_PAUSE_TIMEOUT_S = 1.0
# Nobody sits beside a download at night: a hub that was silent is asked again.
RETRY_AFTER_S = 60
_WORTH_ANOTHER_TRY = (HubSilentError.__name__, HubBusyError.__name__)
_DEATH = Sentence("The download process ended unexpectedly; what has arrived is kept.")


class DownloadController(QObject):
    """`hub` finds what can be fetched. The queue goes on by itself, also after a restart.

    Signals (all on the GUI thread):
        queue_changed(): entries came, went, moved or changed their state.
        progressed(str, DownloadProgressed): of the entry with this key.
        finished(str, DownloadFinished), failed(str, ErrorInfo)
        refused(ErrorInfo): a model was not taken into the queue.
    """

    queue_changed = Signal()
    progressed = Signal(str, object)
    finished = Signal(str, object)
    failed = Signal(str, object)
    refused = Signal(object)

    def __init__(
        self, settings: SettingsStore, parent: QObject | None = None, *, service: str = "download"
    ) -> None:
        super().__init__(parent)
        self.hub = HubController(settings, self)
        self._queue = DownloadQueue(downloads_path())
        self._link = WorkerLink(service, self)
        self._link.event_received.connect(self._on_link_event_received)
        self._retry_timer = QTimer(self, singleShot=True, interval=RETRY_AFTER_S * 1000)
        self._retry_timer.timeout.connect(self._on_retry_timeout)
        self._retried: set[str] = set()

    @property
    def entries(self) -> tuple[QueuedDownload, ...]:
        """In the order in which they are fetched."""
        return tuple(self._queue)

    @property
    def note(self) -> str:
        """What was wrong with the list of downloads at the start, '' for nothing."""
        return self._queue.note

    @property
    def is_worker_running(self) -> bool:
        """Whether the worker process lives."""
        return self._link.is_running

    def start(self) -> None:
        """Goes on with what was under way when the program ended."""
        self._go_on()

    def enqueue(self, found: RepositoryFound, model: OfferedModel) -> None:
        """Takes a model of a repository into the queue, where there is room for all of it."""
        entry = QueuedDownload(
            reference=_address(found),
            revision=found.revision,
            commit=found.commit,
            main=model.main,
            name=model.name,
            num_bytes=model.num_bytes,
            done_bytes=model.found_bytes,
            converted_bytes=model.converted_bytes or 0,
        )
        if (old := self._queue.find(entry.key)) and old.state is QueueState.RUNNING:
            return
        with Reporting(self.refused):
            check_room(self._needs(found, entry))
            self._queue.add(entry)
            self.queue_changed.emit()
            self._go_on()

    def pause(self, key: str) -> None:
        """What has arrived stays; `resume` goes on."""
        self._hold(key, QueueState.PAUSED)

    def resume(self, key: str) -> None:
        """Goes on with what was paused or has failed."""
        entry = self._queue.find(key)
        if entry and entry.state in (QueueState.PAUSED, QueueState.FAILED):
            self._change(key, state=QueueState.WAITING, problem="")
            self._go_on()

    def remove(self, key: str) -> None:
        """Takes an entry out; what has arrived stays on the disk, where the library shows it."""
        self._hold(key, QueueState.PAUSED)
        self._retried.discard(key)
        self._queue.remove(key)
        self.queue_changed.emit()

    def move(self, key: str, step: int) -> None:
        """Nearer to the start (-1) or the end (1) of the queue."""
        self._queue.move(key, step)
        self.queue_changed.emit()

    def shutdown(self) -> None:
        """Ends the worker processes and waits; call once before the application quits."""
        self._retry_timer.stop()
        self.hub.shutdown()
        self._link.shutdown(_PAUSE_TIMEOUT_S)

    def _needs(self, found: RepositoryFound, entry: QueuedDownload) -> list[Need]:
        others = [e for e in self._queue if e.key != entry.key and e.state is not QueueState.DONE]
        conversions = entry.converted_bytes + sum(other.converted_bytes for other in others)
        return [
            Need(found.folder, entry.left_bytes, Sentence("the files")),
            Need(found.folder, sum(e.left_bytes for e in others), Sentence("the queue before it")),
            Need(library_dir(), conversions, Sentence("the conversion")),
        ]

    def _hold(self, key: str, state: QueueState) -> None:
        entry = self._queue.find(key)
        if entry is None or entry.state is QueueState.DONE:
            return
        if entry.state is QueueState.RUNNING:
            self._link.end(_PAUSE_TIMEOUT_S)
        self._change(key, state=state)

    def _go_on(self) -> None:
        """Begins the next download; with none left gives the memory back."""
        if self._queue.running is not None:
            return
        entry = self._queue.next_waiting
        if entry is None:
            self._link.end()
            return
        self._change(entry.key, state=QueueState.RUNNING)
        if self._link.is_fresh:
            for use in self.hub.session_tokens:
                self._link.send(use)
        self._link.send(
            DownloadModel(
                entry.reference, entry.revision, entry.commit, entry.main, entry.converted_bytes
            )
        )

    def _change(self, key: str, **changes: object) -> None:
        self._queue.change(key, **changes)
        self.queue_changed.emit()

    @Slot(object)
    def _on_link_event_received(self, event: Event) -> None:
        running = self._queue.running
        match event:
            case DownloadProgressed() if running:
                self._queue.note_progress(running.key, event.done_bytes)
                self.progressed.emit(running.key, event)
            case DownloadFinished() if running:
                self._finish(running, event)
            case JobFailed() if running:
                self._fail(running, event.error)
            case WorkerDied() if running:
                self._fail(running, describe_death(event, _DEATH))
            case WorkerStopped():
                self._go_on()

    def _finish(self, entry: QueuedDownload, finished: DownloadFinished) -> None:
        self._retried.discard(entry.key)
        self._change(
            entry.key,
            state=QueueState.DONE,
            path=str(finished.path),
            done_bytes=finished.num_bytes,
        )
        self.finished.emit(entry.key, finished)
        self._go_on()

    def _fail(self, entry: QueuedDownload, error: ErrorInfo) -> None:
        self._change(entry.key, state=QueueState.FAILED, problem=error.message)
        if error.kind in _WORTH_ANOTHER_TRY:
            self._retried.add(entry.key)
            self._retry_timer.start()
        self.failed.emit(entry.key, error)
        self._go_on()

    def _on_retry_timeout(self) -> None:
        keys, self._retried = self._retried, set()
        for key in keys:
            entry = self._queue.find(key)
            if entry is not None and entry.state is QueueState.FAILED:
                self.resume(key)


def _address(found: RepositoryFound) -> str:
    """What asks for this repository again: a URL where another hub was named."""
    reference = parse_reference(found.reference)
    endpoint = reference.endpoint if isinstance(reference, HubReference) else ""
    return f"{endpoint}/{found.repo_id}" if endpoint else found.repo_id
