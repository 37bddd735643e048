"""A child process that leaves the processor to the window when both want it."""

from __future__ import annotations

import sys

import psutil

_NICENESS = 5


def step_back() -> None:
    """From now on."""
    if sys.platform == "win32":
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        psutil.Process().nice(_NICENESS)
