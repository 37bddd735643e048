"""Which device runs a model, and the honest reason."""

from __future__ import annotations

import importlib.machinery
import re
from dataclasses import replace
from pathlib import Path

import pytest

from app.core import cards, probe
from app.core.cards import Card
from app.core.device import choose_device, describe_machine
from app.core.errors import (
    AppError,
    MissingExtraError,
    ResourceError,
    UnsupportedError,
    UsageError,
)


def test_the_machine_has_cores_and_memory() -> None:
    machine = describe_machine()
    assert machine.cpu_name
    assert 1 <= machine.num_cores <= machine.num_threads
    assert 0 < machine.available_bytes <= machine.total_bytes


CARD = Card("RTX 3050 Laptop GPU", (8, 6), 16, 4 << 30, (12, 4), "0000:01:00.0")


def use_card(monkeypatch: pytest.MonkeyPatch, card: Card, has_cupy: bool = True) -> None:
    """As if the driver had described this card."""
    monkeypatch.setattr("app.core.device.find_card", lambda: card)
    found = importlib.machinery.ModuleSpec("cupy", None) if has_cupy else None
    monkeypatch.setattr("app.core.device.find_spec", lambda name: found)


def test_a_card_that_can_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    use_card(monkeypatch, CARD)
    for requested in ("auto", "cuda"):
        choice = choose_device(requested)
        assert (choice.device, choice.card) == ("cuda", CARD)
        assert choice.note == "Running on RTX 3050 Laptop GPU."


@pytest.mark.parametrize(
    ("card", "has_cupy", "kind", "reason"),
    [
        (
            replace(CARD, name="GTX 1650", compute_capability=(7, 5)),
            True,
            UnsupportedError,
            "The GTX 1650 is too old: it has compute capability 7.5, the cuda kernels need 8.0",
        ),
        (
            replace(CARD, cuda_version=(11, 8)),
            True,
            ResourceError,
            "The driver of the RTX 3050 Laptop GPU is too old: it runs CUDA 11.8",
        ),
        (CARD, False, MissingExtraError, "CuPy: `python3 dev.py install cuda` installs CuPy"),
    ],
    ids=["old card", "old driver", "no CuPy"],
)
def test_auto_says_why_it_is_the_cpu_and_cuda_refuses(
    monkeypatch: pytest.MonkeyPatch, card: Card, has_cupy: bool, kind: type[AppError], reason: str
) -> None:
    use_card(monkeypatch, card, has_cupy)
    choice = choose_device("auto")
    assert choice.device == "cpu"
    assert reason in choice.note
    assert choice.note.endswith(f" Running on {describe_machine().cpu_name}.")
    assert choice.note.count(". ") == 1
    with pytest.raises(kind, match=re.escape(reason)):
        choose_device("cuda")


def test_without_a_driver_there_is_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "_CUDA_LIBRARY", "libno-such-driver.so.9")
    assert choose_device("auto").note.startswith("No NVIDIA driver found. Running on ")
    with pytest.raises(ResourceError, match="No NVIDIA driver found"):
        choose_device("cuda")


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_an_explicit_device_is_taken(device: str) -> None:
    assert choose_device(device).device == device


def test_an_unknown_device_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="tpu"):
        choose_device("tpu")


def test_the_driver_is_found_by_its_tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(probe, "_DRIVER_LIBRARIES", ("libno-such-driver.so.9",))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not probe.has_nvidia_driver()
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    assert probe.has_nvidia_driver()


@pytest.mark.parametrize(
    ("variable", "expected"), [("DISPLAY", True), ("WAYLAND_DISPLAY", True), ("HOME", False)]
)
def test_a_display_is_what_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, variable: str, expected: bool
) -> None:
    monkeypatch.setattr(probe.sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, ":0")
    assert probe.has_display() is expected
