"""The peak of a process's memory, measured in a small one of its own."""

from __future__ import annotations

import subprocess
import sys

_HELD_BYTES = 64 << 20
_SCRIPT = f"""
from app.core.memory import peak_rss_bytes
before = peak_rss_bytes()
block = bytearray(b"x") * {_HELD_BYTES}
held = peak_rss_bytes()
del block
print(before, held, peak_rss_bytes())
"""


def test_the_peak_grows_with_what_is_held_and_stays() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, check=True, text=True
    )
    before, held, after = map(int, answer.stdout.split())
    assert 1 << 20 < before < 1 << 30
    # The kernel counts in batches per thread, so the figure is good to some hundred KiB.
    assert before + 0.9 * _HELD_BYTES < min(held, after)
