"""`deepinfer --self-test` of this checkout: what a bundle is asked as well."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app import self_test
from app.core.errors import EngineError, MissingExtraError

_ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_everything_that_a_user_does_first(tmp_path: Path) -> None:
    home, report = tmp_path / "the user's", tmp_path / "报告 report.json"
    env = os.environ | {"PYTHONPATH": str(_ROOT), "DEEPINFER_HOME": str(home)}
    command = [sys.executable, "-m", "app", "--self-test", str(report)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, check=False)
    document = json.loads(report.read_text(encoding="utf-8"))
    assert {name: step["status"] for name, step in document["steps"].items()} == dict.fromkeys(
        ("imports", "window", "conversion", "reply", "server"), "pass"
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert document["steps"]["server"]["text"] == document["steps"]["reply"]["text"]
    assert report.with_suffix(".png").stat().st_size > 10_000
    assert not home.exists()


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (MissingExtraError("No starter."), "not_run", "No starter."),
        (EngineError("It broke."), "fail", "It broke."),
        (KeyError("x"), "fail", "KeyError: 'x'"),
    ],
)
def test_a_step_that_ends_early_says_why(error: Exception, status: str, reason: str) -> None:
    def step() -> dict[str, object]:
        raise error

    result = self_test._attempt(step)
    assert (result["status"], result["reason"]) == (status, reason)
