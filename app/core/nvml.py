"""NVIDIA's management library: what it tells of the cards without a context on any of them.

docs.nvidia.com/deploy/nvml-api, through ctypes. Nothing here raises: where the library is missing,
or does not answer, there is nothing to tell.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_LIBRARY = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
_TEXT_BYTES = 96
_MAX_PROCESSES = 256
_NOT_AVAILABLE = (1 << 64) - 1  # NVML_VALUE_NOT_AVAILABLE: Windows' driver model does not tell


@dataclass(frozen=True, slots=True)
class CardProcess:
    """Of one that uses a card; `num_bytes` None where the driver does not tell."""

    pid: int
    num_bytes: int | None


class Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


class _ProcessInfo(ctypes.Structure):
    """nvmlProcessInfo_t of the calls that end in _v3."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("usedGpuMemory", ctypes.c_ulonglong),
        ("gpuInstanceId", ctypes.c_uint),
        ("computeInstanceId", ctypes.c_uint),
    )


@contextmanager
def opened_nvml() -> Iterator[ctypes.CDLL | None]:
    """The library, initialised; None where there is none."""
    nvml = None
    with contextlib.suppress(OSError):
        nvml = ctypes.CDLL(_LIBRARY)
    if nvml is None or nvml.nvmlInit_v2():
        yield None
        return
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def find_card_handle(nvml: ctypes.CDLL, pci_bus_id: str) -> ctypes.c_void_p | None:
    """A card by the id that CUDA gives it."""
    handle = ctypes.c_void_p()
    code = nvml.nvmlDeviceGetHandleByPciBusId_v2(pci_bus_id.encode(), ctypes.byref(handle))
    return None if code else handle


def describe_cards() -> str:
    """`NVIDIA RTX A2000 (4.0 GiB), driver 550.54`: all cards; '' without any."""
    with opened_nvml() as nvml:
        if nvml is None:
            return ""
        count, version = ctypes.c_uint(), ctypes.create_string_buffer(_TEXT_BYTES)
        if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) or not count.value:
            return ""
        cards = ", ".join(_describe(nvml, index) for index in range(count.value))
        nvml.nvmlSystemGetDriverVersion(version, _TEXT_BYTES)
        return f"{cards}, driver {version.value.decode(errors='replace')}"


def list_card_processes(pci_bus_id: str) -> tuple[CardProcess, ...]:
    """Who computes or draws on a card, each process once."""
    with opened_nvml() as nvml:
        handle = None if nvml is None else find_card_handle(nvml, pci_bus_id)
        if nvml is None or handle is None:
            return ()
        found: dict[int, CardProcess] = {}
        for name in (
            "nvmlDeviceGetComputeRunningProcesses_v3",
            "nvmlDeviceGetGraphicsRunningProcesses_v3",
        ):
            for process in _read_processes(nvml, name, handle):
                known = found.get(process.pid)
                if known is None or known.num_bytes is None:  # draws, and computes, maybe both
                    found[process.pid] = process
        return tuple(found.values())


def _describe(nvml: ctypes.CDLL, index: int) -> str:
    handle, name, memory = ctypes.c_void_p(), ctypes.create_string_buffer(_TEXT_BYTES), Memory()
    if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)):
        return "a card that does not answer"
    nvml.nvmlDeviceGetName(handle, name, _TEXT_BYTES)
    nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
    return f"{name.value.decode(errors='replace')} ({memory.total / (1 << 30):.1f} GiB)"


def _read_processes(
    nvml: ctypes.CDLL, function: str, handle: ctypes.c_void_p
) -> Iterator[CardProcess]:
    read = getattr(nvml, function, None)  # drivers before R510 lack it
    count, infos = ctypes.c_uint(_MAX_PROCESSES), (_ProcessInfo * _MAX_PROCESSES)()
    if read is None or read(handle, ctypes.byref(count), infos):
        return
    for info in infos[: count.value]:
        known = info.usedGpuMemory != _NOT_AVAILABLE
        yield CardProcess(info.pid, info.usedGpuMemory if known else None)


def read_driver_version() -> str:
    """`551.23`; '' without a driver."""
    with opened_nvml() as nvml:
        version = ctypes.create_string_buffer(_TEXT_BYTES)
        if nvml is None or nvml.nvmlSystemGetDriverVersion(version, _TEXT_BYTES):
            return ""
        return version.value.decode(errors="replace")
