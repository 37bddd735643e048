"""The one class that crosses threads: events posted anywhere come out on the GUI thread."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.core.events import Event


class EventBridge(QObject):
    """Lives on the GUI thread; order is kept and nothing is dropped.

    A lambda or a plain function connected to another thread's signal runs on that other thread. The
    private signal is queued to a slot of this object, which emits the public one: then every slot
    downstream, lambdas included, runs on the GUI thread.

    Signals:
        received: an Event, on the GUI thread.
    """

    received = Signal(object)
    _posted = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._posted.connect(self._on_posted, Qt.ConnectionType.QueuedConnection)

    def post(self, event: Event) -> None:
        """Hands an event over; callable from any thread, returns at once."""
        self._posted.emit(event)

    @Slot(object)
    def _on_posted(self, event: Event) -> None:
        self.received.emit(event)
