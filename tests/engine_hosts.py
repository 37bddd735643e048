"""What tests of the engine's host share: replies that end, one that does not, and patience."""

from __future__ import annotations

import time
from collections.abc import Callable

from app.engine.request import SamplingParams

GREEDY = SamplingParams(temperature=0.0, max_tokens=20, ignore_eos=True)
ENDLESS = SamplingParams(temperature=0.0, ignore_eos=True)
TIMEOUT_S = 20.0


def wait_until(is_so: Callable[[], bool]) -> None:
    """Fails after TIMEOUT_S."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)
