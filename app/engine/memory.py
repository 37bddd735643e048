"""The memory of this process: measured for the listeners, and really given back after an unload."""

from __future__ import annotations

import ctypes
import gc
import sys

import psutil

from app.core.cards import CardSample
from app.core.events import MemorySampled
from app.engine.executors.base import MemoryUse


def sample_memory(use: MemoryUse, card: CardSample | None = None) -> MemorySampled:
    """What the executor, this process and the machine use now."""
    machine = psutil.virtual_memory()
    return MemorySampled(
        rss_bytes=psutil.Process().memory_info().rss,
        weights_bytes=use.weights_bytes,
        kv_bytes=use.kv_bytes,
        workspace_bytes=use.workspace_bytes,
        available_bytes=machine.available,
        total_bytes=machine.total,
        card=card,
    )


def return_freed_memory() -> None:
    """Hands freed pages back to the system; glibc keeps them for later otherwise."""
    gc.collect()
    if sys.platform != "linux":
        return
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not in musl
    if malloc_trim is not None:
        malloc_trim(0)
