"""What this computer is, for the window: looked at in a process that ends with its answer."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.worker_link import WorkerLink
from app.core.events import Event, JobFailed, WorkerDied
from app.core.machine_events import MachineDescribed
from app.workers.machine_commands import DescribeMachine


class MachineController(QObject):
    """Looks when somebody asks; `report` is what was seen last.

    Signals (on the GUI thread):
        described(MachineDescribed)
        failed(): it cannot be told; nothing depends on it.
    """

    described = Signal(object)
    failed = Signal()

    def __init__(
        self, library_dir: Path, parent: QObject | None = None, *, service: str = "machine"
    ) -> None:
        super().__init__(parent)
        self.report: MachineDescribed | None = None
        self._library_dir = library_dir
        self._is_looking = False
        self._link = WorkerLink(service, self)
        self._link.event_received.connect(self._on_link_event_received)

    def look(self) -> None:
        """Answered by `described` or `failed`; once for all who ask meanwhile."""
        if not self._is_looking:
            self._is_looking = True
            self._link.send(DescribeMachine(self._library_dir))

    def shutdown(self) -> None:
        """Ends the worker process and waits; call once before the application quits."""
        self._link.shutdown()

    @Slot(object)
    def _on_link_event_received(self, event: Event) -> None:
        match event:
            case MachineDescribed():
                self.report = event
                self._end()
                self.described.emit(event)
            case JobFailed() | WorkerDied() if self._is_looking:
                self._end()
                self.failed.emit()

    def _end(self) -> None:
        self._is_looking = False
        self._link.end()
