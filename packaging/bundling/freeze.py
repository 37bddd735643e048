"""One call of PyInstaller, on either system, and what it is told."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bundling.tools import ROOT, PackagingError, note, run

FOLDER_NAME = "DeepInfer"
CONTENTS_NAME = "contents.json"


@dataclass(frozen=True)
class Ingredients:
    """What goes into a bundle besides Python code; None leaves a part out."""

    cpu_library: Path
    cuda_built: Path | None
    starter: Path | None
    version: str
    icon: Path | None
    is_full: bool


def spec_command(
    python: str,
    ingredients: Ingredients,
    work: Path,
    translate: Callable[[Path], str] = str,
    root: Path = ROOT,
) -> list[str]:
    """The command; `translate` says what Windows calls a path that Wine shows it."""
    options = {
        "--root": root,
        "--cpu-library": ingredients.cpu_library,
        "--cuda-built": ingredients.cuda_built,
        "--starter": ingredients.starter,
        "--icon": ingredients.icon,
        "--contents": work / CONTENTS_NAME,
    }
    given = [(name, translate(path)) for name, path in options.items() if path is not None]
    return [
        *(python, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"),
        *("--distpath", translate(work / "dist"), "--workpath", translate(work / "build")),
        *(translate(root / "packaging" / "deepinfer.spec"), "--"),
        *("--version", ingredients.version),
        *(word for pair in given for word in pair),
        *(["--full"] if ingredients.is_full else []),
    ]


def freeze(python: Path, ingredients: Ingredients, work: Path) -> Path:
    """Builds for the system that runs; returns the bundle's folder."""
    note("freezing ...")
    shutil.rmtree(work / "dist", ignore_errors=True)
    # One seed of hashes: the order of sets is then the same in every build.
    env = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}
    run(spec_command(str(python), ingredients, work), env=env, log=work / "pyinstaller.log")
    return require_bundle(work)


def require_bundle(work: Path) -> Path:
    """The folder that was built; PackagingError where it is not there."""
    folder = work / "dist" / FOLDER_NAME
    if not folder.is_dir():
        raise PackagingError(f"PyInstaller left no {folder}; see pyinstaller.log.")
    _write_qt_conf(folder)
    if not (folder / "deepinfer.exe").is_file():
        (folder / "deepinfer").symlink_to("deepinfer-desktop")
    return folder


def _write_qt_conf(bundle: Path) -> None:
    """Where Qt's plugins and translations are, seen from the programs: doc.qt.io/qt-6/qt-conf.html.

    Wheels of Linux have a folder for Qt within their own.
    """
    inner = "Qt" if (bundle / "_internal" / "PySide6" / "Qt").is_dir() else "."
    text = f"[Paths]\nPrefix = _internal/PySide6/{inner}\n"
    (bundle / "qt.conf").write_text(text, encoding="utf-8", newline="\n")
