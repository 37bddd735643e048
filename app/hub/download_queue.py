"""Downloads that were asked for, in their order, kept in a file: they survive whatever ends us."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, get_type_hints

from app.core.json_file import read_json, set_aside, write_json
from app.core.sentence import Sentence, pack, unpack
from app.core.system_reason import system_reason

_log = logging.getLogger(__name__)

_VERSION = 1


class QueueState(StrEnum):
    """What one entry waits for; `PAUSED` and `FAILED` wait for the user."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class QueuedDownload:
    """One model of a repository at one commit; `main` is the file to open, '' for the folder.

    `reference` is what to ask a hub for (a URL where another hub was named), `path` what a
    conversion takes when it is done, `problem` why it failed.
    """

    reference: str
    revision: str
    commit: str
    main: str
    name: str
    num_bytes: int
    done_bytes: int = 0
    converted_bytes: int = 0
    state: QueueState = QueueState.WAITING
    path: str = ""
    problem: str = ""

    @property
    def key(self) -> str:
        """Tells entries apart."""
        return f"{self.reference}@{self.commit}:{self.main}"

    @property
    def left_bytes(self) -> int:
        """Still to be fetched."""
        return max(0, self.num_bytes - self.done_bytes)


class DownloadQueue:
    """The entries in the order in which they are fetched; every change is written at once.

    What ran when the program ended waits again. A damaged file is set aside; one that cannot be
    read, and may be sound, is never written to. `note` says so.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.note = ""
        self._is_read_only = False
        self._entries = self._read()

    def __iter__(self) -> Iterator[QueuedDownload]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: str) -> QueuedDownload | None:
        """The entry, None where it is not there (any more)."""
        return next((entry for entry in self._entries if entry.key == key), None)

    @property
    def running(self) -> QueuedDownload | None:
        """The one that is being fetched."""
        return next((e for e in self._entries if e.state is QueueState.RUNNING), None)

    @property
    def next_waiting(self) -> QueuedDownload | None:
        """The one to fetch next."""
        return next((e for e in self._entries if e.state is QueueState.WAITING), None)

    def add(self, entry: QueuedDownload) -> None:
        """At the end; the same model takes its old place."""
        if self.find(entry.key) is None:
            self._entries.append(entry)
        else:
            self._entries = [entry if e.key == entry.key else e for e in self._entries]
        self._write()

    def change(self, key: str, **changes: Any) -> None:
        """Gives an entry other values; no effect where it is not there."""
        self._entries = [replace(e, **changes) if e.key == key else e for e in self._entries]
        self._write()

    def note_progress(self, key: str, done_bytes: int) -> None:
        """Remembers how far an entry is; written with the next change."""
        self._entries = [
            replace(e, done_bytes=done_bytes) if e.key == key else e for e in self._entries
        ]

    def remove(self, key: str) -> None:
        """Takes an entry out; what has arrived of it stays on the disk."""
        self._entries = [entry for entry in self._entries if entry.key != key]
        self._write()

    def move(self, key: str, step: int) -> None:
        """Nearer to the start (-1) or the end (1)."""
        index = next((i for i, entry in enumerate(self._entries) if entry.key == key), None)
        if index is None or not 0 <= index + step < len(self._entries):
            return
        entry = self._entries.pop(index)
        self._entries.insert(index + step, entry)
        self._write()

    def _read(self) -> list[QueuedDownload]:
        try:
            document = read_json(self._path)
            return [] if document is None else [_to_entry(raw) for raw in document["downloads"]]
        except OSError as error:
            self._leave_alone(error)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            self._set_aside(error)
        return []

    def _leave_alone(self, error: OSError) -> None:
        self._is_read_only = True
        self.note = Sentence(
            "The list of downloads ({path}) cannot be read ({reason}): changes to it are not "
            "saved.",
            path=self._path,
            reason=system_reason(error),
        )
        _log.warning("%s", self.note)

    def _set_aside(self, error: Exception) -> None:
        try:
            aside = set_aside(self._path)
        except OSError as problem:
            self._leave_alone(problem)
            return
        self.note = Sentence(
            "The list of downloads ({path}) was damaged; it is kept as {aside}.",
            path=self._path,
            aside=aside,
        )
        _log.warning("%s %r", self.note, error)

    def _write(self) -> None:
        if self._is_read_only:
            return
        document = {"version": _VERSION, "downloads": [_to_json(entry) for entry in self._entries]}
        try:
            write_json(self._path, document)
        except OSError as error:
            _log.warning("The list of downloads cannot be saved: %s", error)


def _to_json(entry: QueuedDownload) -> dict[str, Any]:
    return {**asdict(entry), "problem": pack(entry.problem)}


def _to_entry(raw: dict[str, Any]) -> QueuedDownload:
    """Keys of a newer version are left out; raises what `_read` takes for damage."""
    kinds = get_type_hints(QueuedDownload)
    known = {name: value for name, value in raw.items() if name in kinds}
    state = QueueState(known.get("state", QueueState.WAITING))
    known["state"] = QueueState.WAITING if state is QueueState.RUNNING else state
    known["problem"] = unpack(known.get("problem", ""))
    for name, value in known.items():
        if isinstance(value, bool) or not isinstance(value, kinds[name]):
            raise TypeError(f"{name} is {value!r}")
    return QueuedDownload(**known)
