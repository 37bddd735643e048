"""A small JSON file: what is damaged is told apart from what only cannot be read now."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def read_json(path: Path) -> Any:
    """What is in it, None without a file.

    Raises ValueError for what is no JSON, and OSError for what cannot be read: it may be sound all
    the same, and locked by another program.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def write_json(path: Path, document: object) -> None:
    """As a whole or not at all, beside other processes that write it; raises OSError. Of names of
    files, bytes that are no Unicode are escaped."""
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    text = json.dumps(document, indent=2, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside.write_text(text, encoding="utf-8", errors="backslashreplace")
    os.replace(aside, path)


def set_aside(path: Path) -> str:
    """Renames what is damaged, and returns the new name; raises OSError."""
    aside = path.with_suffix(".corrupt.json")
    os.replace(path, aside)
    return aside.name
