"""The sentences of rooms without Qt, as `app.core.sentence` and errors have them, for lupdate.

A template is the first argument of `Sentence` or of an AppError: a constant, so that it is found
here. lupdate finds it where the window translates it, in a file that is written for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTEXT = "Sentence"
# Those of the command line and of the port stay English: scripts and clients read them.
ENGLISH_ROOMS = ("cli", "server")
# What opening the port refuses is for who switches it on, in the window as well.
SHOWN_ALL_THE_SAME = ("server/listening_socket.py", "server/options.py", "server/runner.py")


def iter_templates() -> Iterator[str]:
    """Each once, in the order of the files."""
    seen: set[str] = set()
    for path in sentence_files():
        for call in iter_sentences(ast.parse(path.read_text(encoding="utf-8"))):
            template = getattr(call.args[0], "value", None)
            if isinstance(template, str) and template not in seen:
                seen.add(template)
                yield template


def sentence_files() -> list[Path]:
    """The files whose sentences the window may show."""
    return [path for path in sorted((ROOT / "app").rglob("*.py")) if _is_shown(path)]


def _is_shown(path: Path) -> bool:
    place = path.relative_to(ROOT / "app")
    return place.parts[0] not in ENGLISH_ROOMS or place.as_posix() in SHOWN_ALL_THE_SAME


def iter_sentences(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls of `Sentence` and of the errors that are one, with an argument."""
    names = {"Sentence", *_error_names()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and _name(node.func) in names:
            yield node


def write_marked(path: Path) -> None:
    """A file in which lupdate finds all of them."""
    marked = [f"QT_TRANSLATE_NOOP({CONTEXT!r}, {text!r})\n" for text in iter_templates()]
    path.write_text("".join(marked), encoding="utf-8")


@cache
def _error_names() -> frozenset[str]:
    """Every class that comes from AppError, by the declarations themselves."""
    bases = {
        node.name: {_name(base) for base in node.bases}
        for path in sentence_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error")
    }
    found = {"AppError"}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return frozenset(found)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
