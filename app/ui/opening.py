"""What is opened by its name: a double click, a file association, a second start."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from app.controllers.conversion_job import create_output_name

_MANIFEST = "manifest.json"


def find_checkpoint(path: Path, library_dir: Path) -> Path | None:
    """What to chat with: `path` itself, or what was made of this very file; None: convert it first.

    A file is known by its name and its size, as its checkpoint's manifest tells both.
    """
    if (path / _MANIFEST).is_file():
        return path
    made = library_dir / create_output_name(path)
    with suppress(OSError, ValueError, KeyError, TypeError):
        source = json.loads((made / _MANIFEST).read_text(encoding="utf-8"))["source"]
        if path.is_file() and source["bytes"] == path.stat().st_size:
            return made
    return None
