"""How late an event loop is: a 10 ms timer's delay, tick by tick."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, Qt, QTimer

from benchmarks.measure import Figures

_INTERVAL_S = 0.010


class Lateness(QObject):
    """Collects by how many seconds each tick came after its time.

    On a machine that is busy with other things a loop is late without fault of its own; the
    processor time that the thread took between two ticks is its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._delays_s: list[float] = []
        self._worked_s: list[float] = []
        self._last_s = self._last_cpu_s = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(round(_INTERVAL_S * 1000))
        self._timer.timeout.connect(self._on_timer_timeout)

    def __enter__(self) -> Lateness:
        self._last_s, self._last_cpu_s = time.perf_counter(), time.thread_time()
        self._timer.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._timer.stop()

    def figures(self) -> Figures:
        """Percentiles in milliseconds."""
        delays_ms = sorted(1000 * delay for delay in self._delays_s)
        return {
            "ticks": len(delays_ms),
            "p50_ms": delays_ms[len(delays_ms) // 2],
            "p99_ms": delays_ms[len(delays_ms) * 99 // 100],
            "max_ms": delays_ms[-1],
            "p99_cpu_ms": 1000 * sorted(self._worked_s)[len(delays_ms) * 99 // 100],
            "max_cpu_ms": 1000 * max(self._worked_s),
        }

    def _on_timer_timeout(self) -> None:
        now_s, cpu_s = time.perf_counter(), time.thread_time()
        self._delays_s.append(max(0.0, now_s - self._last_s - _INTERVAL_S))
        self._worked_s.append(cpu_s - self._last_cpu_s)
        self._last_s, self._last_cpu_s = now_s, cpu_s
