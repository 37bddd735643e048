"""`deepinfer --self-test` of this checkout: what a bundle is asked as well."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.errors import EngineError, MissingExtraError
from app.self_test.contents import try_imports
from app.self_test.steps import attempt

_ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_everything_that_a_user_does_first(tmp_path: Path) -> None:
    home, report = tmp_path / "the user's", tmp_path / "报告 report.json"
    env = os.environ | {"PYTHONPATH": str(_ROOT), "DEEPINFER_HOME": str(home)}
    command = [sys.executable, "-m", "app", "--self-test", str(report)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, check=False)
    document = json.loads(report.read_text(encoding="utf-8"))
    statuses = {name: step["status"] for name, step in document["steps"].items()}
    # A checkout has no list of what must be in it; a bundle has.
    assert statuses.pop("contents") == "not_run"
    names = ("kernels", "texts", "window", "conversion", "validation", "reply", "server")
    assert statuses == dict.fromkeys(names, "pass")
    assert document["steps"]["window"]["num_words"] > 50
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

    result = attempt(step)
    assert (result["status"], result["reason"]) == (status, reason)


def test_a_name_that_is_not_there_is_told() -> None:
    names = ["json", "json:loads", "xml:dom", "json:nothing", "no_such_package.part:name"]
    assert [line.partition(": ")[0] for line in try_imports(names)] == names[3:]
    assert try_imports(["json"], ["json", "no_such_package"]) == ["json is loaded as well"]
