"""Fake services importable by name, here and in child processes; garbage collected here alone."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _garbage_on_this_thread() -> Iterator[None]:
    """As `GuiGarbageCollector` does in the program; a test is too short for its timer."""
    gc.disable()
    yield
    gc.collect()
    gc.enable()
