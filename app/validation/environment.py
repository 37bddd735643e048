"""On what a validation ran."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from app import __version__
from app.core.device import describe_machine
from app.core.sentence import Sentence
from app.core.units import format_bytes

_PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "safetensors", "gguf")


def describe_environment() -> tuple[tuple[str, str], ...]:
    """Names and values; no path and no host name."""
    machine = describe_machine()
    return (
        (Sentence("program"), f"DeepInfer {__version__}"),
        (Sentence("python"), platform.python_version()),
        (Sentence("system"), f"{platform.system()} {platform.machine()}"),
        (
            Sentence("processor"),
            Sentence("{cpu}, {cores} cores", cpu=machine.cpu_name, cores=machine.num_cores),
        ),
        (Sentence("memory"), format_bytes(machine.total_bytes)),
        (
            Sentence("devices"),
            Sentence("reference (torch, float32) and cpu (native kernels, float32 activations)"),
        ),
        *((name, _version(name)) for name in _PACKAGES),
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return Sentence("not installed")
