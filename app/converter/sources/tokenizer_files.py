"""The text files beside the weights of a repository: tokenizer, template, generation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.core.errors import InvalidSourceError, UsageError

_COPIED = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "generation_config.json",
)
_TOKEN_IDS = ("bos_token_id", "eos_token_id", "pad_token_id")


def check_tokenizer_dir(folder: Path) -> None:
    """UsageError unless `folder` has tokenizer.json, which the engine cannot do without."""
    if not (folder / "tokenizer.json").is_file():
        raise UsageError("{name} has no tokenizer.json.", name=folder.name)


def iter_tokenizer_files(folder: Path, config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, content) of the files that are there; generation_config.json also where it is not."""
    for name in _COPIED:
        path = folder / name
        if path.is_file():
            yield name, _read_text(path)
    if not (folder / "generation_config.json").is_file():
        ids = {name: config[name] for name in _TOKEN_IDS if config.get(name) is not None}
        yield "generation_config.json", json.dumps(ids, indent=2) + "\n"


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSourceError(
            "{name} cannot be read as text.", name=path.name, detail=repr(error)
        ) from error
