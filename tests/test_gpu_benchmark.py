"""The benchmark of cards runs to its end without one, and says that its figures are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
