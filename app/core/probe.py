"""What this machine has, asked with the standard library alone: `dev.py` has nothing else yet."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys

# The driver's own libraries; the toolkit's (cudart, nvrtc) may be there without any card.
_DRIVER_LIBRARIES = (
    ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libnvidia-ml.so.1")
)


def has_nvidia_driver() -> bool:
    """Whether an NVIDIA driver is installed: its tool is on the path, or its library loads."""
    return shutil.which("nvidia-smi") is not None or any(_loads(name) for name in _DRIVER_LIBRARIES)


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def has_display() -> bool:
    """Whether a window can be shown: on Windows and macOS always, on Linux by the environment.

    `QT_QPA_PLATFORM` counts as well: who sets it to `offscreen` wants a window that nobody sees.
    """
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))
