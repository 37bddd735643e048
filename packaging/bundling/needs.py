"""What the program needs inside a bundle, read from its own sources: nothing is listed by hand.

Every module of ours and every import in it, also those within functions, by the kind of process
that does it; every file that is no code. The specification puts the list into the bundle, whose
self-test imports each name and opens each file, so what a hook or a filter lost is found.
"""

from __future__ import annotations

import ast
import fnmatch
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

FILE_NAME = "needs.json"
_PACKAGES = ("app", "kernels")
# Kinds of processes, the first that matches: torch comes neither after Qt nor beside CuPy.
_WINDOW = ("app.ui", "app.controllers", "app.gui", "app.self_test")
_REFERENCE = ("app.validation", "app.engine.executors.reference")
_REFERENCE_PACKAGES = ("torch", "transformers")
_NOT_SHIPPED = ("resources/screenshots/*", "*.ts", "*.md")


def find_needs(root: Path, is_full: bool) -> dict[str, list[str]]:
    """`window`, `engine`, `reference`: modules (`a.b`) and names in them (`a.b:name`); `files`:
    places below the bundle's contents. Raises LookupError for a package that is not installed.
    """
    needs: dict[str, set[str]] = {"window": set(), "engine": set(), "reference": set()}
    for path, module in own_modules(root):
        if _is_left_out(module, is_full):
            continue
        kind = needs[_kind_of(module)]
        kind.add(module)
        kind |= {name for name in imports_of(path) if _is_there(name, module, is_full)}
    files = sorted(place for _path, place in resource_files(root))
    return {**{kind: sorted(names) for kind, names in needs.items()}, "files": files}


def own_modules(root: Path) -> Iterator[tuple[Path, str]]:
    """Every module of ours, in order: the program imports by name (adapters, workers)."""
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            yield path, ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def resource_files(root: Path) -> Iterator[tuple[Path, str]]:
    """What the program reads besides code: its path, its place in the bundle."""
    for path in sorted((root / "resources").rglob("*")):
        place = path.relative_to(root).as_posix()
        if path.is_file() and not any(fnmatch.fnmatch(place, one) for one in _NOT_SHIPPED):
            yield path, place


def imports_of(path: Path) -> set[str]:
    """Of others' modules: `a.b`, `a.b:name`; without those that only a type checker sees."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}:{alias.name}" for alias in node.names}
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)
    return {name for name in found if re.split("[.:]", name)[0] not in (*_PACKAGES, "__future__")}


def _kind_of(module: str) -> str:
    if _is_below(module, _WINDOW):
        return "window"
    return "reference" if _is_below(module, _REFERENCE) else "engine"


def _is_left_out(module: str, is_full: bool) -> bool:
    """The reference executor imports torch at its head."""
    return not is_full and _is_below(module, _REFERENCE[1:])


def _is_there(name: str, module: str, is_full: bool) -> bool:
    """Whether this system's build has the module at all: `winreg` is Windows' alone."""
    package = re.split("[.:]", name)[0]
    if package in _REFERENCE_PACKAGES and not is_full:
        return False
    if find_spec(package) is not None:
        return True
    if package in sys.stdlib_module_names:
        return False
    raise LookupError(f"{module} imports {package}, which is not installed where this is built.")


def _is_below(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in packages)
