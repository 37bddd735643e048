"""The most memory this process ever held, on every system."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import psutil

    def peak_rss_bytes() -> int:
        """Peak resident set size in bytes since the process began."""
        return int(psutil.Process().memory_info().peak_wset)

else:
    import resource

    # ru_maxrss counts KiB on Linux and bytes on macOS (getrusage(2) of each).
    _MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024

    def peak_rss_bytes() -> int:
        """Peak resident set size in bytes since the process began."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT
