"""Long work on the GUI thread in steps, a few milliseconds at a time, between the user's events."""

from __future__ import annotations

import time
from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Slot
from shiboken6 import isValid

# Events wait at most this long, and one step more.
_SLICE_S = 0.008


class IdleWork(QObject):
    """The unfinished work of one owner; it ends with the owner.

    Work of several owners is done one after the other, the latest first: what is started by a step
    (a card begins to draw itself) comes before the next step (the next card).
    """

    def __init__(self, owner: QObject) -> None:
        super().__init__(owner)
        self._steps: Iterator[object] | None = None

    @property
    def is_running(self) -> bool:
        """Whether something is left to do."""
        return self._steps is not None

    def start(self, steps: Iterator[object]) -> None:
        """Does the steps, each up to a `yield`, in place of those that were left."""
        self._steps = steps
        _turns().enter(self)

    def finish(self) -> None:
        """Does at once what is left."""
        while self._steps is not None:
            self.step()

    def cancel(self) -> None:
        """Leaves undone what is left."""
        self._steps = None

    def step(self) -> None:
        """Does the next step, if there is one."""
        steps = self._steps
        if steps is None:
            return
        for _ in steps:
            return
        if self._steps is steps:  # the last step may have begun other work
            self._steps = None


class _Turns(QObject):
    """Who works next. One timer for all: with one each, every owner's slice would come before the
    user's next event."""

    def __init__(self, parent: QObject | None) -> None:
        super().__init__(parent)
        self._waiting: list[IdleWork] = []
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._on_timer_timeout)

    def enter(self, work: IdleWork) -> None:
        self._waiting = [other for other in self._waiting if other is not work] + [work]
        self._timer.start()

    @Slot()
    def _on_timer_timeout(self) -> None:
        end_s = time.perf_counter() + _SLICE_S
        while time.perf_counter() < end_s and self._has_work():
            self._waiting[-1].step()
        if not self._has_work():
            self._timer.stop()

    def _has_work(self) -> bool:
        """Forgets who has finished or is gone."""
        while self._waiting and not (isValid(self._waiting[-1]) and self._waiting[-1].is_running):
            self._waiting.pop()
        return bool(self._waiting)


_shared: _Turns | None = None


def _turns() -> _Turns:
    """That of the application, with which it ends."""
    global _shared
    if _shared is None or not isValid(_shared):
        _shared = _Turns(QCoreApplication.instance())
    return _shared
