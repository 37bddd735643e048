"""Which device runs a model, and the honest reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core import probe
from app.core.device import choose_device, describe_machine
from app.core.errors import UnsupportedError, UsageError


def test_the_machine_has_cores_and_memory() -> None:
    machine = describe_machine()
    assert machine.cpu_name
    assert 1 <= machine.num_cores <= machine.num_threads
    assert 0 < machine.available_bytes <= machine.total_bytes


@pytest.mark.parametrize(
    ("has_driver", "reason"), [(True, "no cuda executor yet"), (False, "No NVIDIA driver")]
)
def test_auto_is_the_cpu_and_says_why(
    monkeypatch: pytest.MonkeyPatch, has_driver: bool, reason: str
) -> None:
    monkeypatch.setattr("app.core.device.has_nvidia_driver", lambda: has_driver)
    choice = choose_device("auto")
    assert choice.device == "cpu"
    assert reason in choice.note


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_an_explicit_device_is_taken(device: str) -> None:
    assert choose_device(device).device == device


def test_cuda_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="cuda"):
        choose_device("cuda")


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
