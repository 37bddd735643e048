"""The machine below: its processor and memory, and the device a model shall run on."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from app.core.cards import Card, find_card
from app.core.errors import (
    AppError,
    MissingExtraError,
    ResourceError,
    UnsupportedError,
    UsageError,
)
from app.core.frozen import missing_extra
from app.core.sentence import Sentence

DEVICES = ("auto", "cuda", "cpu", "reference")
# What the cpu executor multiplies quantized weights with: int8 with a step per 32 columns, about
# 1.5 times as fast, or float32.
ACTIVATIONS = ("int8", "fp32")
# How keys and values are cached: int8 takes half of fp16, with one scale per position and head.
KV_DTYPES = ("fp16", "int8", "fp32")
# mma.m16n8k16 and cp.async, which the cuda kernels are made of, came with it (A100, RTX 30).
OLDEST_COMPUTE_CAPABILITY = (8, 0)
OLDEST_CUDA_VERSION = (12, 0)  # what CuPy's package for CUDA 12 asks of a driver


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
    """`note` says in one sentence why this device, for people; `card` is set for `cuda`."""

    device: str
    note: str
    card: Card | None = None


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
    """Resolves `auto`: a card that can run the kernels, else the CPU.

    Whether a model fits the card is for the loader to find out. Raises UsageError for an unknown
    word; for `cuda`, what `find_usable_card` raises.
    """
    if requested not in DEVICES:
        raise UsageError(
            "Unknown device {requested!r}: choose one of {devices}.",
            requested=requested,
            devices=", ".join(DEVICES),
        )
    if requested not in ("auto", "cuda"):
        return DeviceChoice(
            requested, Sentence("Chosen by you; running on {cpu}.", cpu=_read_cpu_name())
        )
    try:
        card = find_usable_card()
    except AppError as error:
        if requested == "cuda":
            raise
        return fall_back(error)
    return DeviceChoice("cuda", Sentence("Running on {card}.", card=card.name), card)


def fall_back(reason: AppError) -> DeviceChoice:
    """The CPU, because of what stands against the card."""
    note = Sentence("{reason} Running on {cpu}.", reason=reason.message, cpu=_read_cpu_name())
    return DeviceChoice("cpu", note)


def find_usable_card() -> Card:
    """The card that the cuda executor would run on.

    Raises ResourceError without a driver or card, UnsupportedError for one that is too old, and
    MissingExtraError without CuPy.
    """
    card = find_card()
    if card.compute_capability < OLDEST_COMPUTE_CAPABILITY:
        raise UnsupportedError(
            "The {card} is too old: it has compute capability {found}, the cuda kernels need "
            "{oldest}.",
            card=card.name,
            found=_dotted(card.compute_capability),
            oldest=_dotted(OLDEST_COMPUTE_CAPABILITY),
        )
    if card.cuda_version < OLDEST_CUDA_VERSION:
        raise ResourceError(
            "The driver of the {card} is too old: it runs CUDA {found}, the cuda executor needs "
            "{oldest}.",
            card=card.name,
            found=_dotted(card.cuda_version),
            oldest=_dotted(OLDEST_CUDA_VERSION),
        )
    if find_spec("cupy") is None:
        raise MissingExtraError(
            "The {card} is used through CuPy: {hint}.",
            card=card.name,
            hint=missing_extra("cuda", "CuPy"),
        )
    return card


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _read_cpu_name() -> str:
    return (
        _read_system_cpu_name()
        or platform.processor()
        or platform.machine()
        or Sentence("an unknown processor")
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
