"""Who holds memory: of a card by NVML, of the machine by what its processes have resident."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterable

import psutil

from app.core.cards import Card
from app.core.memory_shortage import MemoryHolder
from app.core.nvml import list_card_processes
from app.core.sentence import Sentence

_OWN_NAME = "DeepInfer"
_NUM_SHOWN = 4


def card_holders(card: Card) -> tuple[MemoryHolder, ...]:
    """The programs on a card, the largest first; without a number where the driver tells none."""
    own = _own_pids()
    found = [(p.pid, p.num_bytes) for p in list_card_processes(card.pci_bus_id)]
    known = _add_up([(pid, size) for pid, size in found if size is not None], own)
    names = {_name(pid, own) for pid, size in found if size is None} - {one.name for one in known}
    unknown = [MemoryHolder(name, None, name == _OWN_NAME) for name in sorted(names)]
    return (*known, *unknown)[:_NUM_SHOWN]


def memory_holders() -> tuple[MemoryHolder, ...]:
    """This program, and those that have most of the machine's memory resident."""
    sizes = []
    for process in psutil.process_iter(["memory_info"]):
        if (info := process.info["memory_info"]) is not None:
            sizes.append((process.pid, info.rss))
    return _add_up(sizes, _own_pids())[:_NUM_SHOWN]


def _add_up(sizes: Iterable[tuple[int, int]], own: set[int]) -> tuple[MemoryHolder, ...]:
    """By name, the largest first; this program always among the first."""
    total: Counter[str] = Counter()
    for pid, num_bytes in sizes:
        total[_name(pid, own)] += num_bytes
    holders = [MemoryHolder(n, size, n == _OWN_NAME) for n, size in total.most_common() if size]
    shown = holders[:_NUM_SHOWN]
    late = [one for one in holders[_NUM_SHOWN:] if one.is_own]
    return tuple([*shown[:-1], *late] if late else shown)


def _name(pid: int, own: set[int]) -> str:
    if pid in own:
        return _OWN_NAME
    try:
        return psutil.Process(pid).name() or Sentence("process {pid}", pid=pid)
    except psutil.Error:
        return Sentence("process {pid}", pid=pid)


def _own_pids() -> set[int]:
    """The program that started this process, and all that it started."""
    root = os.getpid() if multiprocessing.parent_process() is None else os.getppid()
    try:
        children = psutil.Process(root).children(recursive=True)
    except psutil.Error:
        children = []
    return {root, os.getpid(), *(child.pid for child in children)}
