"""The text files beside a subject's weights: tokenizer, chat template, generation settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.converter.sources.gguf import GgufSource
from app.core.errors import AppError
from app.core.sentence import Sentence
from app.engine.tokenizer import Tokenizer
from app.validation.check import NotRunError
from app.validation.context import Context

_TOKENIZER = "tokenizer.json"


def text_folder(context: Context) -> Path:
    """A folder with tokenizer.json; of a GGUF file the files that conversion makes.

    Raises NotRunError where there is none.
    """
    subject = context.subject
    if isinstance(subject.source, GgufSource):
        return _write_texts(subject.source, context.scratch / "texts")
    if subject.path is None or not subject.path.is_dir():
        raise NotRunError(Sentence("only config.json was given"))
    if not (subject.path / _TOKENIZER).is_file():
        raise NotRunError(Sentence("there is no {tokenizer}", tokenizer=_TOKENIZER))
    return subject.path


def load_tokenizer(context: Context) -> Tokenizer:
    """The engine's tokenizer; raises NotRunError where there is none."""
    return Tokenizer.from_dir(text_folder(context))


def find_tokenizer(context: Context) -> Tokenizer | None:
    """The same, for those who can do without."""
    try:
        return load_tokenizer(context)
    except (NotRunError, AppError):
        return None


def read_generation_config(context: Context) -> dict[str, Any] | None:
    """generation_config.json as published; None where there is none or it is damaged."""
    path = context.subject.path
    if path is None or not (path / "generation_config.json").is_file():
        return None
    try:
        found = json.loads((path / "generation_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _write_texts(source: GgufSource, folder: Path) -> Path:
    if not folder.is_dir():
        folder.mkdir()
        for name, content in source.iter_text_files():
            (folder / name).write_text(content, encoding="utf-8")
    return folder
