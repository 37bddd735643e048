"""Rules that no linter knows: how long files and functions may be, and who may print."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = ("app", "kernels", "benchmarks", "packaging", "tests")
_FILES = [_ROOT / "dev.py", *(path for name in _FOLDERS for path in (_ROOT / name).rglob("*.py"))]
_MAX_FILE_LINES = 400
_MAX_FUNCTION_LINES = 60


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Every Python file of the project, parsed."""
    return {
        path.relative_to(_ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in _FILES
    }


def _functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_files_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in _FILES}
    assert {p.name: n for p, n in lengths.items() if n > _MAX_FILE_LINES} == {}


def test_functions_are_short(trees: dict[str, ast.Module]) -> None:
    lengths = {
        f"{path}:{function.name}": (function.end_lineno or 0) - function.lineno + 1
        for path, tree in trees.items()
        for function in _functions(tree)
    }
    assert {name: n for name, n in lengths.items() if n > _MAX_FUNCTION_LINES} == {}


def test_returns_are_annotated(trees: dict[str, ast.Module]) -> None:
    missing = [
        f"{path}:{function.name}"
        for path, tree in trees.items()
        for function in _functions(tree)
        if function.returns is None
    ]
    assert missing == []


def test_every_module_says_its_job(trees: dict[str, ast.Module]) -> None:
    assert [path for path, tree in trees.items() if not ast.get_docstring(tree)] == []


def test_only_the_edges_print(trees: dict[str, ast.Module]) -> None:
    printing = {
        path
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    }
    allowed = ("dev.py", "app/cli/", "benchmarks/")
    assert [path for path in printing if not path.startswith(allowed)] == []
