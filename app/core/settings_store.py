"""Settings in one versioned JSON file: never a reason to crash, never lost by an older version."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from app.core.json_file import read_json, set_aside, write_json
from app.core.sentence import Sentence
from app.core.settings import SETTING_FIELDS, Settings, find_problem
from app.core.system_reason import system_reason

_log = logging.getLogger(__name__)

VERSION = 1
_VERSION_KEY = "version"

# `UPGRADES[n]` turns the values of version n into those of version n + 1.
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
UPGRADES: Mapping[int, Upgrade] = {}


class SettingsStore:
    """Reads the file once, writes it at every change. Pass it on; there is no global one.

    `notes` holds one sentence per thing that was wrong with the file, to be shown once.
    Keys that this version does not know are kept as they are. A file of a newer version is read as
    far as it is understood, and never written to (`is_read_only`): changes hold for this run. So is
    one that cannot be read, which may be sound.
    """

    def __init__(
        self, path: Path, upgrades: Mapping[int, Upgrade] = UPGRADES, version: int = VERSION
    ) -> None:
        self._path = path
        self._version = version
        self.notes: list[str] = []
        self.is_read_only = False
        self._raw = self._upgrade(self._read(), upgrades)
        written = self._raw.get(_VERSION_KEY)
        if isinstance(written, int) and written > self._version:
            self.is_read_only = True
            self._note(
                Sentence(
                    "{path} was written by a newer version of this program: its settings hold as "
                    "far as they are known here, changes are not saved.",
                    path=self._path,
                )
            )
        self.values = self._parse(self._raw)

    def update(self, **changes: Any) -> Settings:
        """Changes some settings and saves; raises ValueError for a value outside the schema."""
        for name, value in changes.items():
            if problem := find_problem(SETTING_FIELDS[name], value):
                raise ValueError(f"{name} {problem}")
        self.values = replace(self.values, **changes)
        self._save(changes)
        return self.values

    def _read(self) -> dict[str, Any]:
        try:
            raw = read_json(self._path)
        except ValueError as error:
            self._set_aside(str(error))
            return {}
        except OSError as error:
            self.is_read_only = True
            self._note(
                Sentence(
                    "{path} cannot be read ({reason}): defaults are used, changes are not saved.",
                    path=self._path,
                    reason=system_reason(error),
                )
            )
            return {}
        if raw is None or isinstance(raw, dict):
            return raw or {}
        self._set_aside(Sentence("it holds no JSON object"))
        return {}

    def _set_aside(self, reason: str) -> None:
        try:
            aside = set_aside(self._path)
        except OSError as error:
            self.is_read_only = True
            self._note(
                Sentence(
                    "{path} is damaged ({reason}) and cannot be set aside ({error}): defaults are "
                    "used, changes are not saved.",
                    path=self._path,
                    reason=reason,
                    error=system_reason(error),
                )
            )
            return
        self._note(
            Sentence(
                "{path} was damaged ({reason}); it is kept as {aside}, defaults are used.",
                path=self._path,
                reason=reason,
                aside=aside,
            )
        )

    def _upgrade(self, raw: dict[str, Any], upgrades: Mapping[int, Upgrade]) -> dict[str, Any]:
        version = raw.get(_VERSION_KEY, self._version)
        while isinstance(version, int) and version < self._version and version in upgrades:
            raw = upgrades[version](raw)
            version += 1
        return raw

    def _parse(self, raw: dict[str, Any]) -> Settings:
        known = {name: raw[name] for name in SETTING_FIELDS if name in raw}
        problems = {
            name: find_problem(SETTING_FIELDS[name], value) for name, value in known.items()
        }
        for name, problem in problems.items():
            if problem:
                self._note(
                    Sentence(
                        "{file}: {name} {problem}; the default is used.",
                        file=self._path.name,
                        name=name,
                        problem=problem,
                    )
                )
        return Settings(**{name: value for name, value in known.items() if not problems[name]})

    def _save(self, changes: dict[str, Any]) -> None:
        if self.is_read_only:
            return
        own = {**self._raw, **asdict(self.values), _VERSION_KEY: self._version}
        try:
            write_json(self._path, {**own, **self._changed_by_others(), **changes})
        except OSError as error:
            self._note(Sentence("Settings could not be saved: {error}.", error=error))
            return
        self._raw = own

    def _changed_by_others(self) -> dict[str, Any]:
        """What a command beside the window has written since; this process keeps its own values."""
        try:
            now = read_json(self._path)
        except ValueError:
            return {}
        if not isinstance(now, dict) or now.get(_VERSION_KEY) != self._version:
            return {}
        known = {name: now[name] for name in SETTING_FIELDS if name in now}
        return {
            name: value
            for name, value in known.items()
            if value != self._raw.get(name, SETTING_FIELDS[name].default)
            and not find_problem(SETTING_FIELDS[name], value)
        }

    def _note(self, sentence: str) -> None:
        _log.warning("%s", sentence)
        self.notes.append(sentence)
