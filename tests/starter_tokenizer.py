"""The starter model's tokenizer metadata, and the files built from it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import gguf

from app.converter.gguf_tokenizer import build_tokenizer_files
from app.engine.tokenizer import Tokenizer


@lru_cache
def read_metadata(path: Path) -> dict[str, Any]:
    """All key-value pairs; callers copy before they change something."""
    fields = gguf.GGUFReader(path).fields
    return {name: field.contents() for name, field in fields.items()}


@lru_cache
def build_files(path: Path) -> dict[str, str]:
    """What the converter writes for this file."""
    return build_tokenizer_files(read_metadata(path), {"vocab_size": 49152}, path.name)


def write_files(files: dict[str, str], directory: Path) -> Path:
    """Puts the files into `directory`."""
    for name, content in files.items():
        (directory / name).write_text(content, encoding="utf-8")
    return directory


def load(files: dict[str, str], directory: Path) -> Tokenizer:
    """The engine's tokenizer for the files, through the disk as in a checkpoint."""
    return Tokenizer.from_dir(write_files(files, directory))
