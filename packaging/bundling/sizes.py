"""What takes the room in a bundle: by component, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bundling.inventory import Component

_MIB = 1 << 20
# Bytes, as the release notes promise them.
LIMITS = {
    ("windows", False): 450_000_000,
    ("windows", True): 900_000_000,
    ("linux", True): 900_000_000,
}
_MIN_ROW_BYTES = _MIB


def folder_bytes(folder: Path) -> int:
    """Of all files; a link takes nothing."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files)


def size_document(folder: Path, components: Sequence[Component], **facts: Any) -> dict[str, Any]:
    """`total_bytes` of the folder, and the bytes of each component, largest first."""
    rows = [
        {"name": one.name, "version": one.version, "bytes": one.num_bytes, "files": one.num_files}
        for one in components
        if one.num_files
    ]
    return {**facts, "total_bytes": folder_bytes(folder), "components": rows}


def size_table(document: dict[str, Any]) -> str:
    """Markdown; what is below one MiB is one row."""
    rows = document["components"]
    large = [row for row in rows if row["bytes"] >= _MIN_ROW_BYTES]
    small = sum(row["bytes"] for row in rows) - sum(row["bytes"] for row in large)
    lines = ["| component | version | MiB |", "| --- | --- | ---: |"]
    lines += [f"| {row['name']} | {row['version']} | {row['bytes'] / _MIB:.1f} |" for row in large]
    lines.append(f"| {len(rows) - len(large)} smaller ones | | {small / _MIB:.1f} |")
    lines.append(f"| **the folder** | | **{document['total_bytes'] / _MIB:.1f}** |")
    return "\n".join(lines) + "\n"
