"""What the user chose: declared once, kept in one versioned JSON file, never a reason to crash."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from app.core.device import ACTIVATIONS, DEVICES, KV_DTYPES

_log = logging.getLogger(__name__)

VERSION = 1
_VERSION_KEY = "version"

# `UPGRADES[n]` turns the values of version n into those of version n + 1.
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
UPGRADES: Mapping[int, Upgrade] = {}


def _setting(
    default: Any,
    help_text: str,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    metadata = {"help": help_text, "least": least, "most": most, "choices": choices}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting with its default, range and help; some are the start of a new conversation."""

    theme: str = _setting(
        "system", "Light, dark, or as the system has it.", choices=("system", "light", "dark")
    )
    device: str = _setting("auto", "Where models run.", choices=DEVICES)
    activations: str = _setting(
        "int8", "What a CPU multiplies weights with: int8 is fast, fp32 exact.", choices=ACTIVATIONS
    )
    kv_dtype: str = _setting(
        "fp16", "How the KV cache is stored: int8 takes half of fp16.", choices=KV_DTYPES
    )
    max_model_len: int = _setting(
        0, "Context in tokens; 0 lets the memory plan choose.", least=0, most=1 << 24
    )
    system_prompt: str = _setting("", "System prompt of a new conversation.")
    temperature: float = _setting(
        0.7, "Randomness; 0 always takes the likeliest token.", least=0.0, most=5.0
    )
    top_k: int = _setting(0, "Keep the k likeliest tokens; 0 keeps all.", least=0, most=1 << 20)
    top_p: float = _setting(
        0.95, "Keep the likeliest tokens up to this probability.", least=0.0, most=1.0
    )
    min_p: float = _setting(
        0.0, "Drop tokens below this part of the likeliest.", least=0.0, most=1.0
    )
    repetition_penalty: float = _setting(
        1.0, "Above 1 avoids tokens already seen.", least=0.1, most=5.0
    )
    max_tokens: int = _setting(
        0, "Longest reply in tokens; 0 is up to the context's end.", least=0, most=1 << 24
    )
    last_model: str = _setting("", "The model to load at the start: a folder or a library name.")
    window_geometry: str = _setting("", "Size and place of the window, base64.")


class SettingsStore:
    """Reads the file once, writes it at every change. Pass it on; there is no global one.

    `notes` holds one sentence per thing that was wrong with the file, to be shown once.
    Keys of a newer version are kept as they are.
    """

    def __init__(
        self, path: Path, upgrades: Mapping[int, Upgrade] = UPGRADES, version: int = VERSION
    ) -> None:
        self._path = path
        self._version = version
        self.notes: list[str] = []
        self._raw = self._upgrade(self._read(), upgrades)
        self.values = self._parse(self._raw)

    def update(self, **changes: Any) -> Settings:
        """Changes some settings and saves; raises ValueError for a value outside the schema."""
        for name, value in changes.items():
            if problem := find_problem(_FIELDS[name], value):
                raise ValueError(f"{name} {problem}")
        self.values = replace(self.values, **changes)
        self._save()
        return self.values

    def _read(self) -> dict[str, Any]:
        try:
            raw = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            self._set_aside(str(error))
            return {}
        if not isinstance(raw, dict):
            self._set_aside("it holds no JSON object")
            return {}
        return raw

    def _set_aside(self, reason: str) -> None:
        aside = self._path.with_suffix(".corrupt.json")
        try:
            os.replace(self._path, aside)
        except OSError as error:
            self._note(
                f"{self._path} cannot be read ({reason}) nor set aside ({error}); defaults hold."
            )
            return
        self._note(
            f"{self._path} was damaged ({reason}); it is kept as {aside.name}, defaults are used."
        )

    def _upgrade(self, raw: dict[str, Any], upgrades: Mapping[int, Upgrade]) -> dict[str, Any]:
        version = raw.get(_VERSION_KEY, self._version)
        while isinstance(version, int) and version < self._version and version in upgrades:
            raw = upgrades[version](raw)
            version += 1
        return raw

    def _parse(self, raw: dict[str, Any]) -> Settings:
        known = {name: raw[name] for name in _FIELDS if name in raw}
        problems = {name: find_problem(_FIELDS[name], value) for name, value in known.items()}
        for name, problem in problems.items():
            if problem:
                self._note(f"{self._path.name}: {name} {problem}; the default is used.")
        return Settings(**{name: value for name, value in known.items() if not problems[name]})

    def _save(self) -> None:
        content = {**self._raw, **asdict(self.values), _VERSION_KEY: self._version}
        aside = self._path.with_suffix(".new.json")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            aside.write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")
            os.replace(aside, self._path)
        except OSError as error:
            self._note(f"Settings could not be saved: {error}.")

    def _note(self, sentence: str) -> None:
        _log.warning("%s", sentence)
        self.notes.append(sentence)


def find_problem(declared: Field[Any], value: object) -> str:
    """What is wrong with a value of this setting, as the end of a sentence; empty for nothing."""
    expected = type(declared.default)
    is_number = expected is float and isinstance(value, int) and not isinstance(value, bool)
    if type(value) is not expected and not is_number:
        return f"must be of type {expected.__name__}, not {value!r}"
    meta = declared.metadata
    if meta["choices"] and value not in meta["choices"]:
        return f"must be one of {', '.join(meta['choices'])}, not {value!r}"
    if meta["least"] is not None and not meta["least"] <= value <= meta["most"]:
        return f"must be between {meta['least']} and {meta['most']}, not {value!r}"
    return ""


_FIELDS: dict[str, Field[Any]] = {declared.name: declared for declared in fields(Settings)}
