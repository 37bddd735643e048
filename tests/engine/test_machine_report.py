"""What a machine will run well is what the planners say of models with published sizes."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from app.core.cards import Card
from app.core.device import DeviceChoice
from app.core.errors import ResourceError
from app.core.machine_events import MachineDescribed
from app.engine import fit, machine_report
from app.engine.fit import fit_machine
from app.spec.weights import iter_linears
from kernels.cpu.loader import instruction_sets

GIB = 1 << 30
# As the model cards of Qwen2.5 tell, in billions; tied embeddings count once.
PARAMETERS = {"0.5B": 0.49, "1.5B": 1.54, "3B": 3.09, "7B": 7.61, "14B": 14.7, "32B": 32.5}
LAPTOP = Card("RTX 3050 Laptop", (8, 6), 16, 4 * GIB, (12, 4), "0000:01:00.0")


@pytest.mark.parametrize(("name", "billions"), PARAMETERS.items())
def test_the_sizes_are_those_of_real_models(name: str, billions: float) -> None:
    spec = machine_report.spec_of_size(name)
    count = sum(prod(shape) for _, shape in iter_linears(spec))
    assert count / 1e9 == pytest.approx(billions, rel=0.02)


def test_this_machine_is_described(tmp_path: Path) -> None:
    report = machine_report.describe(tmp_path / "not there yet")
    assert report.instruction_set == instruction_sets()[0]
    assert 0 < report.machine.available_bytes < report.machine.total_bytes
    assert report.disk_free_bytes > 0
    assert bool(report.card) != bool(report.card_problem)
    contexts = [size.max_context for size in report.sizes]
    assert contexts == sorted(contexts, reverse=True)
    speeds = [size.tok_s for size in report.sizes if size.device == "cpu" and size.tok_s]
    assert speeds == sorted(speeds, reverse=True)


@pytest.fixture
def laptop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MachineDescribed:
    """As a laptop with 4 GiB of video memory is described."""
    choice = DeviceChoice("cuda", "", LAPTOP)
    monkeypatch.setattr(machine_report, "find_usable_card", lambda: LAPTOP)
    monkeypatch.setattr(machine_report, "read_memory", lambda _card: None)
    monkeypatch.setattr(machine_report, "read_bandwidth", lambda _card: 192e9)
    monkeypatch.setattr(fit, "choose_device", lambda _wanted: choice)
    return machine_report.describe(tmp_path)


def test_a_card_is_planned_for(laptop: MachineDescribed) -> None:
    sizes = {size.name: size for size in laptop.sizes}
    assert laptop.card is LAPTOP
    assert {size.device for size in laptop.sizes} == {"cuda"}
    assert sizes["3B"].max_context > 8192
    assert sizes["14B"].max_context == 0
    rows = fit_machine(machine_report.spec_of_size("3B"), None).rows
    expected = next(row for row in rows if row.grid == "w4")
    assert sizes["3B"].max_context == expected.max_context
    assert sizes["3B"].tok_s == pytest.approx(192e9 / 2 / expected.weights_bytes)


def test_why_there_is_no_card_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def find() -> Card:
        raise ResourceError("No NVIDIA driver found.")

    monkeypatch.setattr(machine_report, "find_usable_card", find)
    report = machine_report.describe(tmp_path)
    assert (report.card, report.card_problem) == (None, "No NVIDIA driver found.")
