"""From the start of the process to the first paint of the real window: median of seven.

The child runs the program's own `app.gui.main`; only its `Program` is watched.
"""

from __future__ import annotations

import sys
import time

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app import gui
from benchmarks.measure import Figures, command_line, medians, own_home, print_json, run_json

_NUM_RUNS = 7


def measure() -> Figures:
    """first_paint_s of fresh processes; a first one, which fills the disk cache, is not counted."""
    with own_home():
        _start()
        return medians([_start() for _ in range(_NUM_RUNS)])


def _start() -> Figures:
    started_s = time.time()
    painted_s: float = run_json("-m", "benchmarks.startup", "--child")["painted_s"]
    return {"first_paint_s": painted_s - started_s}


class _WatchedProgram(gui.Program):
    """Says when the window has been painted, then ends."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        # `painted` comes from within the paint event; a timer fires once it is over.
        self.window.painted.connect(lambda: QTimer.singleShot(0, self._report))

    def _report(self) -> None:
        print_json({"painted_s": time.time()})
        self.window.close()


def _run_child() -> int:
    gui.Program = _WatchedProgram  # type: ignore[misc]
    return gui.main(None)


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("--child", action="store_true", help="the process that is measured")
    if parser.parse_args().child:
        sys.exit(_run_child())
    print_json(measure())
