"""The most memory this process ever held, on every system."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import psutil

    def peak_rss_bytes() -> int:
        """Peak resident set size in bytes since the process began."""
        return int(psutil.Process().memory_info().peak_wset)

elif sys.platform == "linux":
    from pathlib import Path

    def peak_rss_bytes() -> int:
        """Peak resident set size in bytes since the process began (`VmHWM`, proc(5)).

        Not getrusage's ru_maxrss: there a child starts with its parent's (measured: 318 MB for a
        bare interpreter started by one that held 300 MB).
        """
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

else:
    import resource

    def peak_rss_bytes() -> int:
        """Peak resident set size in bytes since the process began."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
