"""THIRD_PARTY_LICENSES.txt: the licence texts of everything that is inside a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bundling.inventory import CPYTHON, PROGRAM, Component
from bundling.tools import PACKAGING, PackagingError

FOLDER = PACKAGING / "licenses"
_QT = ("lgpl-3.0.txt", "gpl-3.0.txt", "qt.txt")
# Texts for components whose wheels bring none.
_MISSING: dict[str, tuple[str, ...]] = {
    "pyside6-essentials": _QT,
    "shiboken6": _QT,
    "tokenizers": ("../../LICENSE",),  # Apache-2.0, as this program
}
_HEAD = """DeepInfer Desktop is licensed under the Apache License 2.0 (LICENSE). It is built of the
components below, under the licences that follow. Qt and PySide6 are used under the GNU LGPL 3:
their libraries lie beside the program as files and may be replaced by other builds of them.
"""


def third_party_licenses(components: Sequence[Component], python_license: str) -> str:
    """The whole file; PackagingError where a component has no text at all."""
    others = sorted((one for one in components if one.name != PROGRAM), key=lambda one: one.name)
    missing = [one.name for one in others if not _texts(one, python_license)]
    if missing:
        raise PackagingError(f"No licence text was found for {', '.join(missing)}.")
    lines = [_HEAD, *(_heading(one) for one in others), ""]
    seen: dict[str, str] = {}
    for one in others:
        for title, text in _texts(one, python_license).items():
            lines += [_rule(), f"{one.name} {one.version}: {title}", _rule(), ""]
            lines += [f"The same text as of {seen[text]}." if text in seen else text, ""]
            seen.setdefault(text, f"{one.name}, {title}")
    return "\n".join(lines)


def _heading(component: Component) -> str:
    return f"    {component.name} {component.version} ({component.license or 'see its text'})"


def _rule() -> str:
    return "=" * 100


def _texts(component: Component, python_license: str) -> dict[str, str]:
    if component.name == CPYTHON:
        return {"LICENSE.txt": python_license}
    if component.licenses:
        return component.licenses
    names = _MISSING.get(component.name, ())
    return {Path(name).name: (FOLDER / name).read_text(encoding="utf-8").strip() for name in names}


def python_license(prefix: Path) -> str:
    """CPython's own, which names OpenSSL, SQLite, zlib and whatever else it was built with."""
    folders = (prefix, *sorted(prefix.glob("lib/python3*")), Path("/usr/share/doc/python3.11"))
    for path in (folder / name for folder in folders for name in ("LICENSE.txt", "copyright")):
        if path.is_file():
            return path.read_text(encoding="utf-8", errors="replace").strip()
    raise PackagingError(f"CPython's licence is not below {prefix}.")
