"""What the live plots cost while a reply streams: percent of one core, ten minutes in view.

The real window, without a model, offscreen unless a platform is chosen: its panel is told memory
and speed as often as an engine tells them, and the same wait without them is taken off.
"""

from __future__ import annotations

import os
import time

from app.core.events import MemorySampled
from app.ui.live_history import WINDOW_S
from app.ui.widgets.live_panel import LivePanel
from benchmarks.measure import Figures, command_line, own_home, print_json
from benchmarks.window import WindowDriver

_MEASURED_S = 20.0
_SAMPLES_PER_S = 4
_MIB = 1 << 20


def measure() -> Figures:
    """`cpu_percent` of all threads of the window's process."""
    with own_home(), WindowDriver() as driver:
        live = driver.window.chat_page.panel.live
        driver.wait_until(lambda: live.memory_plot is not None, "the plots")
        driver.rest(5.0)
        idle_s = _rest(driver, None)
        _fill(live)
        cpu_s = _rest(driver, live) - idle_s
        return {"cpu_percent": 100 * cpu_s / _MEASURED_S}


def _fill(live: LivePanel) -> None:
    """The ten minutes before."""
    now_s, num = time.monotonic(), int(WINDOW_S * _SAMPLES_PER_S)
    for index in range(num):
        time_s = now_s - WINDOW_S + index / _SAMPLES_PER_S
        live.history.add_memory(_sample(index), time_s)
        live.history.add_rate(40.0 + index % 7, time_s)


def _rest(driver: WindowDriver, told: LivePanel | None) -> float:
    """Processor seconds of a wait in which samples come, or none."""
    started_s = time.process_time()
    for index in range(int(_MEASURED_S * _SAMPLES_PER_S)):
        if told is not None:
            told.add_memory(_sample(index))
            told.add_rate(40.0 + index % 7)
        driver.rest(1 / _SAMPLES_PER_S)
    return time.process_time() - started_s


def _sample(index: int) -> MemorySampled:
    kv_bytes = (300 + index % 64) * _MIB
    used_bytes = 3000 * _MIB + kv_bytes
    return MemorySampled(used_bytes, 2048 * _MIB, kv_bytes, 200 * _MIB, 1 << 33, 1 << 34)


if __name__ == "__main__":
    command_line(__doc__).parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    print_json(measure())
