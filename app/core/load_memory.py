"""With how much less a model was loaded that did not fit, so that the next start does not fail."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.core.path_memory import PathMemory

_MEMORY = PathMemory("load_options.json")


@dataclass(frozen=True, slots=True)
class LoadChoice:
    """The context, 0 for as much as fits, and the type of the cache."""

    max_model_len: int
    kv_dtype: str


def remember_choice(model_dir: Path, asked: LoadChoice, chosen: LoadChoice) -> None:
    """This model is loaded with `chosen` where the settings say `asked`."""
    values = {
        "asked": [asked.max_model_len, asked.kv_dtype],
        "chosen": [chosen.max_model_len, chosen.kv_dtype],
    }
    _MEMORY.remember(model_dir, values)


def find_choice(model_dir: Path, asked: LoadChoice) -> LoadChoice:
    """What was chosen for this model; `asked` where nothing was, or the settings have changed."""
    values = _MEMORY.find(model_dir)
    if not isinstance(values, dict) or values.get("asked") != [asked.max_model_len, asked.kv_dtype]:
        return asked
    match values.get("chosen"):
        case [int(max_model_len), str(kv_dtype)]:
            return LoadChoice(max_model_len, kv_dtype)
    return asked
