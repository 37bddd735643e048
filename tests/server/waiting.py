"""Waiting for what another thread does."""

from __future__ import annotations

import time
from collections.abc import Callable

LIMIT_S = 30.0  # of a test that fails; none that passes comes near it


def wait_until(is_done: Callable[[], bool]) -> None:
    """Fails where it does not become true."""
    deadline_s = time.monotonic() + LIMIT_S
    while not is_done():
        assert time.monotonic() < deadline_s, "it did not happen"
        time.sleep(0.005)
