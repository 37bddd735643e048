"""The machine below: its processor and memory, and the device a model shall run on."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import UnsupportedError, UsageError
from app.core.probe import has_nvidia_driver

DEVICES = ("auto", "cuda", "cpu", "reference")
# What the cpu executor multiplies quantized weights with: int8 with a step per 32 columns, about
# 1.5 times as fast, or float32.
ACTIVATIONS = ("int8", "fp32")
# How keys and values are cached: int8 takes half of fp16, with one scale per position and head.
KV_DTYPES = ("fp16", "int8", "fp32")


@dataclass(frozen=True, slots=True)
class Machine:
    """Sizes in bytes; `num_cores` are physical ones, `num_threads` what the system schedules on."""

    cpu_name: str
    num_cores: int
    num_threads: int
    total_bytes: int
    available_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """`note` says in one sentence why this device, for people."""

    device: str
    note: str


def describe_machine() -> Machine:
    """This machine, as it is now."""
    import psutil  # not above: the window imports this module before its first paint

    memory = psutil.virtual_memory()
    num_threads = psutil.cpu_count() or 1
    return Machine(
        cpu_name=_read_cpu_name(),
        num_cores=psutil.cpu_count(logical=False) or num_threads,
        num_threads=num_threads,
        total_bytes=memory.total,
        available_bytes=memory.available,
    )


def choose_device(requested: str = "auto") -> DeviceChoice:
    """Resolves `auto`.

    Raises UsageError for an unknown word, UnsupportedError for an executor that does not exist yet.
    """
    if requested not in DEVICES:
        raise UsageError(f"Unknown device {requested!r}: choose one of {', '.join(DEVICES)}.")
    if requested == "cuda":
        raise UnsupportedError("This version has no cuda executor yet; use --device cpu.")
    if requested == "auto":
        return DeviceChoice("cpu", f"{_explain_no_cuda()}; running on {_read_cpu_name()}.")
    return DeviceChoice(requested, f"Chosen by you; running on {_read_cpu_name()}.")


def _explain_no_cuda() -> str:
    if has_nvidia_driver():
        return "An NVIDIA driver is installed, but this version has no cuda executor yet"
    return "No NVIDIA driver found"


def _read_cpu_name() -> str:
    return (
        _read_system_cpu_name()
        or platform.processor()
        or platform.machine()
        or "an unknown processor"
    )


def _read_system_cpu_name() -> str:
    try:
        return _read_cpu_record()
    except OSError:
        return ""


if sys.platform == "win32":
    import winreg

    def _read_cpu_record() -> str:
        path = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:
            return str(winreg.QueryValueEx(key, "ProcessorNameString")[0]).strip()

else:

    def _read_cpu_record() -> str:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        return next(names, "")
