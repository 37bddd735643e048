"""Downloads for the window: one repository looked at, one model fetched at a time."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.worker_link import WorkerLink
from app.core.download_events import (
    DownloadFinished,
    DownloadProgressed,
    OfferedModel,
    RepositoryFound,
)
from app.core.errors import WorkerError
from app.core.events import ErrorInfo, Event, JobCancelled, JobFailed, WorkerDied, WorkerStopped
from app.workers.commands import DownloadModel, LookUpRepository

# Then the process is killed: a transfer that waits for a silent server hears nothing, and what has
# arrived stays all the same.
_PAUSE_TIMEOUT_S = 1.0


class DownloadState(StrEnum):
    """What the controller is doing; buttons bind to it."""

    IDLE = "idle"
    LOOKING = "looking"
    DOWNLOADING = "downloading"
    PAUSING = "pausing"
    PAUSED = "paused"


class DownloadController(QObject):
    """Looks at repositories and fetches their models.

    Signals (all on the GUI thread):
        state_changed(DownloadState)
        looking(str): a repository is asked for.
        found(RepositoryFound): the answer.
        begun(OfferedModel), progressed(DownloadProgressed), finished(DownloadFinished)
        paused(): what has arrived stays; `resume` goes on.
        failed(ErrorInfo): of a look-up or a download.
    """

    state_changed = Signal(object)
    looking = Signal(str)
    found = Signal(object)
    begun = Signal(object)
    progressed = Signal(object)
    finished = Signal(object)
    paused = Signal()
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None, *, service: str = "download") -> None:
        super().__init__(parent)
        self._state = DownloadState.IDLE
        self._reference = ""
        self._repository: RepositoryFound | None = None
        self._model: OfferedModel | None = None
        self._link = WorkerLink(service, self)
        self._link.event_received.connect(self._on_link_event_received)

    @property
    def state(self) -> DownloadState:
        """The state last told by `state_changed`."""
        return self._state

    @property
    def is_worker_running(self) -> bool:
        """Whether the worker process lives."""
        return self._link.is_running

    def look_up(self, reference: str) -> None:
        """Asks for a repository; no effect while something runs."""
        if self._state not in (DownloadState.IDLE, DownloadState.PAUSED):
            return
        self._reference, self._repository, self._model = reference, None, None
        self.looking.emit(reference)
        self._set_state(DownloadState.LOOKING)
        self._link.send(LookUpRepository(reference))

    def download(self, model: OfferedModel) -> None:
        """Fetches a model of the repository that was found; no effect while something runs."""
        if self._state in (DownloadState.IDLE, DownloadState.PAUSED) and self._repository:
            self._model = model
            self.begun.emit(model)
            self._set_state(DownloadState.DOWNLOADING)
            command = DownloadModel(self._reference, self._repository.commit, model.main)
            self._link.send(command)

    def pause(self) -> None:
        """Ends what runs within about a second; answered by `paused` when it was a download."""
        if self._state in (DownloadState.LOOKING, DownloadState.DOWNLOADING):
            self._set_state(DownloadState.PAUSING)
            self._link.end(_PAUSE_TIMEOUT_S)

    def resume(self) -> None:
        """Goes on with what was paused or has failed."""
        if self._model is not None:
            self.download(self._model)

    def shutdown(self) -> None:
        """Ends the worker process and waits; call once before the application quits."""
        self._link.shutdown(_PAUSE_TIMEOUT_S)

    def _set_state(self, state: DownloadState) -> None:
        if state is not self._state:
            self._state = state
            self.state_changed.emit(state)

    @Slot(object)
    def _on_link_event_received(self, event: Event) -> None:
        match event:
            case RepositoryFound():
                self._repository = event
                self.found.emit(event)
                self._set_state(DownloadState.IDLE)
            case DownloadProgressed():
                self.progressed.emit(event)
            case DownloadFinished():
                self._model = None
                self._end()
                self.finished.emit(event)
            case JobFailed():
                self._end()
                self.failed.emit(event.error)
            case WorkerDied() if self._state is not DownloadState.IDLE:
                self._set_state(DownloadState.IDLE)
                self.failed.emit(_describe_death(event))
            case WorkerStopped() | JobCancelled() if self._state is DownloadState.PAUSING:
                self._receive_pause()

    def _end(self) -> None:
        self._set_state(DownloadState.IDLE)
        self._link.end()  # gives the memory back

    def _receive_pause(self) -> None:
        self._set_state(DownloadState.PAUSED if self._model else DownloadState.IDLE)
        self.paused.emit()


def _describe_death(event: WorkerDied) -> ErrorInfo:
    message = "The download process ended unexpectedly; what has arrived is kept."
    return ErrorInfo.from_exception(WorkerError(message, detail=f"exit code {event.exit_code}"))
