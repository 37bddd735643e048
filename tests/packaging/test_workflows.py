"""The workflows run the commands that a person runs, on both systems."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from bundling.options import parse

import dev

_FOLDER = Path(__file__).resolve().parents[2] / ".github" / "workflows"
_COMMANDS = ("run", "test", "lint", "bench", "screenshot", "install", "package", "translate")


def _read(name: str) -> dict[str, Any]:
    yaml = import_module("yaml")  # comes with huggingface_hub
    document: dict[str, Any] = yaml.safe_load((_FOLDER / name).read_text(encoding="utf-8"))
    return document


def _steps(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in document["jobs"].values() for step in job["steps"]]


def _dev_commands(document: dict[str, Any]) -> list[list[str]]:
    lines = [line for step in _steps(document) for line in step.get("run", "").splitlines()]
    return [shlex.split(line)[2:] for line in lines if line.startswith("python dev.py")]


@pytest.mark.parametrize("name", [path.name for path in sorted(_FOLDER.glob("*.yml"))])
def test_a_workflow_is_whole(name: str) -> None:
    document = _read(name)
    assert document["name"] == name.removesuffix(".yml")
    assert document[True]  # YAML 1.1 reads `on` so
    assert all(("run" in step) != ("uses" in step) for step in _steps(document))
    assert document["permissions"] == {"contents": "read"}
    assert _dev_commands(document)
    assert {command[0] for command in _dev_commands(document)} <= {*_COMMANDS}


def test_both_systems_are_packaged_lean_and_full(tmp_path: Path) -> None:
    document = _read("package.yml")
    jobs = document["jobs"]["bundle"]["strategy"]["matrix"]["include"]
    assert {job["system"] for job in jobs} == {"linux", "windows"}
    assert all(job["runner"].startswith(("ubuntu-", "windows-")) for job in jobs)
    options = [parse([*words[1:], "--work", str(tmp_path)]) for words in _dev_commands(document)]
    assert [option.is_full for option in options] == [False, True]
    assert all(option.has_smoke_test and option.has_archives for option in options)


def test_both_systems_are_tested() -> None:
    document = _read("test.yml")
    runners = document["jobs"]["test"]["strategy"]["matrix"]["runner"]
    assert {runner.partition("-")[0] for runner in runners} == {"ubuntu", "windows"}
    assert _dev_commands(document) == [["test"]]
    assert callable(dev.test)
