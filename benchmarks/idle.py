"""What the window costs while nobody does anything: processor time, wake-ups and memory.

The real window in a fresh process, without a model, offscreen unless a platform is chosen.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import psutil
from PySide6.QtCore import QAbstractEventDispatcher

from benchmarks.measure import Figures, command_line, own_home, print_json, run_json
from benchmarks.window import WindowDriver

_SETTLE_S = 5.0  # the plots are imported, pages are built
_IDLE_S = 20.0


def measure() -> dict[str, Figures]:
    """Percent of one core, wake-ups a second and bytes: with the plots in view, and minimized."""
    with own_home():
        return run_json("-m", "benchmarks.idle", "--child")


def _measure_window() -> dict[str, Figures]:
    with WindowDriver() as driver:
        live = driver.window.chat_page.panel.live
        driver.wait_until(lambda: live.memory_plot is not None, "the plots")
        driver.rest(_SETTLE_S)
        shown = _measure_rest(driver.rest)
        driver.window.showMinimized()
        driver.rest(1.0)
        return {"shown": shown, "minimized": _measure_rest(driver.rest)}


def _measure_rest(rest: Callable[[float], None]) -> Figures:
    """All threads of this process; the loop is woken by timers, events and threads."""
    process, wakeups = psutil.Process(), _WakeUps()
    started_s, started_cpu_s = time.perf_counter(), time.process_time()
    rest(_IDLE_S)
    seconds = time.perf_counter() - started_s
    return {
        "cpu_percent": 100 * (time.process_time() - started_cpu_s) / seconds,
        "wakeups_per_s": wakeups.stop() / seconds,
        "rss_bytes": float(process.memory_info().rss),
        "children": float(len(process.children(recursive=True))),
    }


class _WakeUps:
    """Counts how often the event loop of this thread goes on after it has slept."""

    def __init__(self) -> None:
        self._count = 0
        dispatcher = QAbstractEventDispatcher.instance()
        assert dispatcher is not None
        self._dispatcher = dispatcher
        self._dispatcher.awake.connect(self._on_awake)

    def stop(self) -> int:
        """How often it was."""
        self._dispatcher.awake.disconnect(self._on_awake)
        return self._count

    def _on_awake(self) -> None:
        self._count += 1


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("--child", action="store_true", help="the process that is measured")
    is_child = parser.parse_args().child
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    print_json(_measure_window() if is_child else measure())
