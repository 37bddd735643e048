"""The sizes of what was built, in docs/releasing.md: made of what lies in `dist`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bundling.options import Options
from bundling.tools import ROOT, PackagingError, note

_DOCUMENT = ROOT / "docs" / "releasing.md"
_BEGIN, _END = "<!-- sizes: begin -->", "<!-- sizes: end -->"
_MB = 1_000_000
_ARCHIVES = {"setup": "-setup.exe", "portable zip": "-portable.zip", "tar": ".tar.gz"}
_NUM_LARGEST = 8


def write_release_table(options: Options) -> None:
    """Between the marks; PackagingError where nothing was built."""
    documents = list(_read_sizes(options.out))
    if not documents:
        raise PackagingError(f"No bundle was built in {options.out}.")
    text = _DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(_BEGIN)
    content = render(documents, options.out, options.version)
    after = rest.split(_END)[1]
    _DOCUMENT.write_text(f"{before}{_BEGIN}\n{content}\n{_END}{after}", encoding="utf-8")
    note(f"the sizes are in {_DOCUMENT}")


def render(documents: list[dict[str, Any]], out: Path, version: str) -> str:
    """A table of bundles, and of what takes the room in each, in MB of 10^6 bytes."""
    heads = [f"{one['system']}, {one['build']}" for one in documents]
    lines = [
        f"{time.strftime('%Y-%m-%d')}; MB of 10^6 bytes.",
        "",
        f"| | {' | '.join(heads)} |",
        f"| --- |{' ---: |' * len(heads)}",
        f"| built of commit | {' | '.join(one['commit'] for one in documents)} |",
        _row("**the folder**", [one["total_bytes"] for one in documents]),
    ]
    for title, ending in _ARCHIVES.items():
        sizes = [_archive_bytes(out, version, one, ending) for one in documents]
        lines += [_row(title, sizes)] if any(sizes) else []
    for name in _largest(documents):
        lines.append(_row(name, [_component_bytes(one, name) for one in documents]))
    return "\n".join(lines)


def _read_sizes(out: Path) -> Iterator[dict[str, Any]]:
    for system in ("windows", "linux"):
        for build in ("lean", "full"):
            path = out / f"sizes-{system}-{build}.json"
            if path.is_file():
                yield json.loads(path.read_text(encoding="utf-8"))


def _archive_bytes(out: Path, version: str, document: dict[str, Any], ending: str) -> int:
    suffix = "-full" if document["build"] == "full" else ""
    path = out / f"DeepInfer-{version}-{document['system']}-x86_64{suffix}{ending}"
    return path.stat().st_size if path.is_file() else 0


def _largest(documents: list[dict[str, Any]]) -> list[str]:
    """The names that take most in any of them."""
    most: dict[str, int] = {}
    for document in documents:
        for row in document["components"]:
            most[row["name"]] = max(row["bytes"], most.get(row["name"], 0))
    return sorted(most, key=lambda name: (-most[name], name))[:_NUM_LARGEST]


def _component_bytes(document: dict[str, Any], name: str) -> int:
    return sum(row["bytes"] for row in document["components"] if row["name"] == name)


def _row(title: str, sizes: list[int]) -> str:
    cells = [f"{size / _MB:.0f}" if size else "" for size in sizes]
    return f"| {title} | {' | '.join(cells)} |"
