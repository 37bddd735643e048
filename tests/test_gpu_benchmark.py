"""The benchmark of cards runs to its end without one, and says that its figures are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.errors import ResourceError
from app.engine.executors.cuda.launcher import Launcher
from benchmarks import gpu
from tests.kernels.host_launcher import HostLauncher

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")
def test_the_benchmark_of_cards_runs_on_fibers(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.gpu", "--launcher", "host", "--tiny"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((tmp_path / "gpu-fibers.json").read_text(encoding="utf-8"))
    parts = document["parts"]
    assert not document["is_card"]
    assert all(parts[name]["is_equal"] for name in ("graph", "greedy", "leaks"))
    model = parts["tiny w3w4"]
    assert sum(kernel["num_bytes"] for kernel in model["kernels"]) == model["weights_bytes"]
    report = (tmp_path / "gpu-fibers.md").read_text(encoding="utf-8")
    assert "**Not from a card**" in report
    assert "| attend | 2 |" in report


@pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")
def test_a_part_that_fails_stands_in_the_report_and_the_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever it raises: nobody has seen the first card yet."""
    parts = {
        "graph": lambda: {"num_logits": 1024, "is_equal": True},
        "greedy": lambda: {"num_tokens": 1 // 0},
        "large matrix": lambda: [][1],
        "3B": lambda: {}["decode_tok_s"],
        "leaks": lambda: {"num_cycles": 20, "is_equal": True},
    }
    monkeypatch.setattr(gpu, "_parts", lambda run: parts)
    monkeypatch.setattr(gpu, "_host_launcher", lambda: HostLauncher)
    monkeypatch.setattr(sys, "argv", ["gpu", "--launcher", "host", "--out", str(tmp_path)])
    assert gpu.main() == 1
    document = json.loads((tmp_path / "gpu-fibers.json").read_text(encoding="utf-8"))
    assert "1 // 0" in document["parts"]["greedy"]["trace"]
    report = capsys.readouterr().out
    assert "| graph and launches one by one | passed: num_logits 1,024 |" in report
    assert "| greedy tokens | failed: ZeroDivisionError: " in report
    assert "failed: IndexError: list index out of range" in report
    assert "failed: KeyError: 'decode_tok_s'" in report
    assert "| leaks | passed: num_cycles 20 |" in report


def test_without_a_card_the_benchmark_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> Launcher:
        raise ResourceError("No NVIDIA card can be used.")

    monkeypatch.setattr(gpu, "create_launcher", refuse)
    monkeypatch.setattr(sys, "argv", ["gpu", "--out", str(tmp_path)])
    assert gpu.main() == 1
    assert capsys.readouterr().err == "No NVIDIA card can be used.\n"
    assert not list(tmp_path.iterdir())
