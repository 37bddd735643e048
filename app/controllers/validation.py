"""Validations for the window: one source at a time, in a worker process of its own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.report_saver import ReportSaver
from app.controllers.story import Story
from app.controllers.worker_link import WorkerLink, describe_death
from app.core.events import Event, JobCancelled, JobFailed, WorkerDied
from app.core.sentence import Sentence
from app.core.validation_events import (
    CheckFinished,
    CheckProgressed,
    CheckStarted,
    DifferencesFound,
    PromptsRendered,
    ValidationFinished,
    ValidationReport,
    ValidationStarted,
)
from app.workers.commands import CancelJob, ValidateSource

_TOLD = (
    "begun",
    "state_changed",
    "started",
    "check_started",
    "check_progressed",
    "check_finished",
    "differences_found",
    "prompts_rendered",
    "finished",
    "failed",
    "cancelled",
)
_DEATH = Sentence("The validation process ended unexpectedly, perhaps because memory ran out.")


class ValidationState(StrEnum):
    """What the controller is doing; buttons bind to it."""

    IDLE = "idle"
    RUNNING = "running"
    CANCELLING = "cancelling"


class ValidationController(QObject):
    """Validates a path or a repository id; `story` tells a page built later of the last one.

    Signals (all on the GUI thread):
        state_changed(ValidationState)
        begun(str): a source was taken; nothing is known of it yet.
        started(ValidationStarted), check_started(CheckStarted), check_progressed(CheckProgressed),
        check_finished(CheckFinished), differences_found(DifferencesFound),
        prompts_rendered(PromptsRendered): as the worker tells them.
        finished(ValidationReport), failed(ErrorInfo), cancelled(): the last of a validation.
    """

    state_changed = Signal(object)
    begun = Signal(str)
    started = Signal(object)
    check_started = Signal(object)
    check_progressed = Signal(object)
    check_finished = Signal(object)
    differences_found = Signal(object)
    prompts_rendered = Signal(object)
    finished = Signal(object)
    failed = Signal(object)
    cancelled = Signal()

    def __init__(self, parent: QObject | None = None, *, service: str = "validate") -> None:
        super().__init__(parent)
        self.reports = ReportSaver(self)
        self.story = Story(self, _TOLD, beginnings=("begun",), latest=("check_progressed",))
        self._state = ValidationState.IDLE
        self._next: str | None = None
        self._link = WorkerLink(service, self)
        self._link.event_received.connect(self._on_link_event_received)

    @property
    def state(self) -> ValidationState:
        """The state last told by `state_changed`."""
        return self._state

    @property
    def is_worker_running(self) -> bool:
        """Whether the worker process lives; its memory is given back soon after the end."""
        return self._link.is_running

    def validate(self, source: str) -> None:
        """Begins; what runs is cancelled first."""
        if self._state is ValidationState.IDLE:
            self._begin(source)
        else:
            self._next = source
            self._request_cancel()

    def cancel(self) -> None:
        """Ends what runs within about a second; answered by `cancelled`."""
        self._next = None
        self._request_cancel()

    def save(self, report: ValidationReport, target: Path) -> None:
        """Writes the report as Markdown, and as JSON beside it; answered by `reports`."""
        self.reports.save_texts(report.markdown, report.document, target)

    def shutdown(self) -> None:
        """Ends the worker process and waits; call once before the application quits."""
        self._next = None
        self._link.shutdown()
        self.reports.shutdown()

    def _begin(self, source: str) -> None:
        self.begun.emit(source)
        self._set_state(ValidationState.RUNNING)
        self._link.send(ValidateSource(source))

    def _request_cancel(self) -> None:
        if self._state is ValidationState.RUNNING:
            self._set_state(ValidationState.CANCELLING)
            self._link.send(CancelJob())

    def _set_state(self, state: ValidationState) -> None:
        if state is not self._state:
            self._state = state
            self.state_changed.emit(state)

    @Slot(object)
    def _on_link_event_received(self, event: Event) -> None:
        if self._state is ValidationState.IDLE:
            return
        match event:
            case ValidationStarted():
                self.started.emit(event)
            case CheckStarted():
                self.check_started.emit(event)
            case CheckProgressed():
                self.check_progressed.emit(event)
            case CheckFinished():
                self.check_finished.emit(event)
            case DifferencesFound():
                self.differences_found.emit(event)
            case PromptsRendered():
                self.prompts_rendered.emit(event)
            case _:
                self._receive_end(event)

    def _receive_end(self, event: Event) -> None:
        match event:
            case ValidationFinished():
                self.finished.emit(event.report)
            case JobFailed():
                self.failed.emit(event.error)
            case JobCancelled():
                self.cancelled.emit()
            case WorkerDied():
                self.failed.emit(describe_death(event, _DEATH))
            case _:
                return
        self._end()

    def _end(self) -> None:
        self._set_state(ValidationState.IDLE)
        source, self._next = self._next, None
        if source is None:
            self._link.end()  # gives the memory back
        else:
            self._begin(source)
