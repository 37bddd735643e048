"""Garbage is collected on the GUI thread only."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer, Slot

_INTERVAL_MS = 500


class GuiGarbageCollector(QObject):
    """Keep one for as long as there are windows.

    Python collects cycles on whichever thread happens to allocate, such as the one that reads a
    worker's events. A widget in a cycle (a lambda that names its own page is enough) would be
    destroyed there, and Qt crashes: reproduced within 20 controllers made and dropped. So automatic
    collection is off and a timer does the same work, by the same thresholds, where widgets live.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(self._on_timer_timeout)
        self._timer.start()

    def stop(self) -> None:
        """Collects once more and leaves collecting to Python again: when no window is left."""
        self._timer.stop()
        gc.collect()
        gc.enable()

    @Slot()
    def _on_timer_timeout(self) -> None:
        counts, thresholds = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if counts[generation] > thresholds[generation]:
                gc.collect(generation)
                return
