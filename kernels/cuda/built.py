"""Modules that were compiled at build time: one archive a target, beside a record of their source.

A bundle needs no compiler for them. `built/sm_86.zip` holds each module by the name that its file
and macros give; `built/manifest.json` tells of which sources, and how many there are.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kernels.cuda.source import SOURCE_DIR, ModuleSource, has_sources, hash_sources

BUILT_DIR = SOURCE_DIR / "built"
_MANIFEST = "manifest.json"


def find_built(source: ModuleSource, target: str, directory: Path | None = None) -> bytes | None:
    """The module; None where it was not built, or of other sources than those that stand here."""
    directory = directory or BUILT_DIR
    manifest = _read_manifest(directory)
    if manifest is None or (has_sources() and manifest["sources"] != hash_sources()):
        return None
    try:
        with zipfile.ZipFile(directory / f"{target}.zip") as archive:
            return archive.read(member_name(source))
    except (OSError, KeyError, zipfile.BadZipFile):
        return None


def write_archive(directory: Path, target: str, images: Mapping[ModuleSource, bytes]) -> int:
    """Writes a target's modules, equal ones as equal bytes; returns the archive's size."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{target}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, image in sorted((member_name(key), image) for key, image in images.items()):
            archive.writestr(zipfile.ZipInfo(name), image, zipfile.ZIP_DEFLATED)
    return path.stat().st_size


def write_manifest(directory: Path, **facts: Any) -> None:
    """Beside the archives, as the last thing: without it they do not count."""
    document = {"sources": hash_sources(), **facts}
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    (directory / _MANIFEST).write_text(text, encoding="utf-8")
    _read_manifest.cache_clear()


def member_name(source: ModuleSource) -> str:
    """`gemv-` and a hash of the options."""
    digest = hashlib.sha256(repr(source.options).encode()).hexdigest()[:16]
    return f"{Path(source.file).stem}-{digest}"


@cache
def _read_manifest(directory: Path) -> dict[str, Any] | None:
    try:
        document = json.loads((directory / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and "sources" in document else None
