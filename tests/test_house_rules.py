"""Rules that no linter knows: how long files and functions are, who prints, what tests assert."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = ("app", "kernels", "benchmarks", "packaging", "tests")
_FILES = [_ROOT / "dev.py", *(path for name in _FOLDERS for path in (_ROOT / name).rglob("*.py"))]
_MAX_FILE_LINES = 400
_MAX_FUNCTION_LINES = 60

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    """What the rules ask of a file; its tree is not kept."""

    num_lines: int
    has_docstring: bool
    functions: tuple[tuple[str, int], ...]  # name, lines
    without_return: tuple[str, ...]
    called: frozenset[str]
    without_assertion: tuple[str, ...]  # of its tests


def _read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, Function)]
    tests = [one for one in functions if one.name.startswith("test_")]
    return Module(
        num_lines=len(text.splitlines()),
        has_docstring=bool(ast.get_docstring(tree)),
        functions=tuple((one.name, (one.end_lineno or 0) - one.lineno + 1) for one in functions),
        without_return=tuple(one.name for one in functions if one.returns is None),
        called=frozenset(ast.unparse(node.func) for node in nodes if _is_named_call(node)),
        without_assertion=tuple(one.name for one in tests if not any(map(_asserts, ast.walk(one)))),
    )


def _is_named_call(node: ast.AST) -> bool:
    """`print()` or `module.function()`."""
    return isinstance(node, ast.Call) and (
        isinstance(node.func, ast.Name)
        or (isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name))
    )


def _asserts(node: ast.AST) -> bool:
    """An `assert`, `pytest.raises`, or a call of something that is named `assert_...`."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Assert)
    name = ast.unparse(node.func).rpartition(".")[2]
    return name in ("raises", "warns") or name.startswith("assert_")


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    """Every Python file of the project."""
    return {path.relative_to(_ROOT).as_posix(): _read(path) for path in _FILES}


def test_files_are_short(modules: dict[str, Module]) -> None:
    long = {path: m.num_lines for path, m in modules.items() if m.num_lines > _MAX_FILE_LINES}
    assert long == {}


def test_functions_are_short(modules: dict[str, Module]) -> None:
    functions = [(path, *function) for path, m in modules.items() for function in m.functions]
    assert [one for one in functions if one[-1] > _MAX_FUNCTION_LINES] == []


def test_returns_are_annotated(modules: dict[str, Module]) -> None:
    assert [(path, name) for path, m in modules.items() for name in m.without_return] == []


def test_every_module_says_its_job(modules: dict[str, Module]) -> None:
    assert [path for path, m in modules.items() if not m.has_docstring] == []


def test_only_the_edges_print(modules: dict[str, Module]) -> None:
    printing = [path for path, m in modules.items() if "print" in m.called]
    allowed = ("dev.py", "app/cli/", "benchmarks/")
    assert [path for path in printing if not path.startswith(allowed)] == []


def test_every_test_asserts_something_itself(modules: dict[str, Module]) -> None:
    """Not only in what it calls: who reads the test sees what it holds to be so."""
    tests = {path: m for path, m in modules.items() if Path(path).name.startswith("test_")}
    assert [(path, name) for path, m in tests.items() for name in m.without_assertion] == []


def test_what_a_test_needs_is_said_by_a_marker(modules: dict[str, Module]) -> None:
    """So that a report tells it, and no test skips itself in the middle."""
    assert [path for path, m in modules.items() if "pytest.skip" in m.called] == []
