"""`<output>.partial`: where a conversion grows until it is whole, or is resumed.

job.json            the arguments, and the source's files with sizes and times
parts/<stem>.json   a part that is on disk, with its hash
checkpoint/         the files themselves; renamed to the output at the end
comparison/         conversions to other grids, made only to be evaluated
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.checkpoint.manifest import MANIFEST_NAME, Manifest
from app.checkpoint.writer import PartRecord
from app.converter.plan import Options
from app.converter.sources.base import Source
from app.core.cleanup import undone_on_failure
from app.core.errors import UsageError
from app.core.json_file import read_json

_JOB, _PARTS, _CHECKPOINT, _COMPARISON = "job.json", "parts", "checkpoint", "comparison"
_OUR_NAMES = {_JOB, f"{_JOB}.partial", _PARTS, _CHECKPOINT, _COMPARISON}


@dataclass(frozen=True, slots=True)
class Job:
    """What must be the same for finished parts to be worth keeping."""

    source: str
    files: list[list[Any]]  # [name, bytes, modification time in ns]
    options: dict[str, Any]
    allow_lossy: bool
    tool: str

    @classmethod
    def of(cls, source: Source, options: Options, allow_lossy: bool, tool: str) -> Job:
        """The job of converting `source` with these options."""
        stats = [(path, path.stat()) for path in source.files]
        files = [[path.name, stat.st_size, stat.st_mtime_ns] for path, stat in stats]
        return cls(str(source.path.resolve()), files, asdict(options), allow_lossy, tool)


@dataclass(frozen=True, slots=True)
class KeptWork:
    """What an interrupted conversion left: its job, and how many parts are whole on disk."""

    job: Job
    num_parts: int


class WorkDir:
    """The working folder of one output."""

    def __init__(self, output: Path) -> None:
        self.output = output.resolve()  # a link stays, and `.` has a name
        self.path = self.output.with_name(self.output.name + ".partial")
        self._replaced = self.output.with_name(self.output.name + ".replaced")
        self.checkpoint = self.path / _CHECKPOINT
        self.comparison = self.path / _COMPARISON

    def open(self, job: Job, *, resume: bool) -> dict[str, PartRecord]:
        """Makes the folder, or goes on with one of the same job; returns the parts that it records.

        Raises UsageError when `resume` finds another job's parts, or the folder, or the one for
        what will be replaced, holds something that is not ours. A folder that cannot be made is not
        left half made.
        """
        if self.path.exists() and not self._is_ours():
            raise UsageError(
                "{name} is in the way and is not a conversion's working folder.",
                name=self.path.name,
            )
        if self._replaced.exists() and not _is_replaced(self._replaced):
            raise UsageError("{folder} is in the way.", folder=self._replaced)
        self._restore()
        if resume and (self.path / _JOB).is_file():
            return self._resume(job)
        self.remove()
        with undone_on_failure(self.remove):
            (self.path / _PARTS).mkdir(parents=True)
            self._write(self.path / _JOB, asdict(job))
        return {}

    def find_kept(self, source: Source, tool: str) -> KeptWork | None:
        """What can be resumed: the work of this very source and program, whatever its options."""
        values = _read_json(self.path / _JOB) if self._is_ours() else None
        if values is None:
            return None
        try:
            options, allow_lossy = Options(**values["options"]), values["allow_lossy"]
        except (KeyError, TypeError):
            return None
        job = Job.of(source, options, allow_lossy, tool)
        num_parts = sum(1 for _ in (self.path / _PARTS).glob("*.json"))
        return KeptWork(job, num_parts) if asdict(job) == values else None

    def read_job(self) -> Job | None:
        """The job that was begun here, as it was written; None where this is no work of ours."""
        values = _read_json(self.path / _JOB) if self._is_ours() else None
        try:
            return Job(**values) if values is not None else None
        except TypeError:
            return None

    def record(self, stem: str, part: PartRecord) -> None:
        """Notes that a part is whole on disk."""
        self._write(self.path / _PARTS / f"{stem}.json", part.to_json())

    def move_into_place(self, manifest: Manifest) -> None:
        """Renames the finished checkpoint; an older one goes once the new one stands."""
        self._drop_strays(manifest)
        with undone_on_failure(self._restore):
            if self.output.exists():
                _remove_replaced(self._replaced)
                self.output.rename(self._replaced)
            self.checkpoint.rename(self.output)
        _remove_replaced(self._replaced)
        self.remove()

    def _restore(self) -> None:
        """An older one that stands whole beside its place, where nothing stands in it."""
        if not self.output.exists() and _is_whole(self._replaced):
            self._replaced.rename(self.output)

    def remove(self) -> None:
        """Leaves nothing behind."""
        shutil.rmtree(self.path, ignore_errors=True)

    def discard(self) -> None:
        """Forgets an interrupted conversion; leaves alone what is not ours."""
        if self._is_ours():
            self.remove()

    def _is_ours(self) -> bool:
        if not self.path.is_dir():
            return False
        return {path.name for path in self.path.iterdir()} <= _OUR_NAMES

    def _drop_strays(self, manifest: Manifest) -> None:
        """A killed run may have left files that this one did not need."""
        for path in self.checkpoint.iterdir():
            if path.name not in manifest.files and path.name != MANIFEST_NAME:
                path.unlink()

    def _resume(self, job: Job) -> dict[str, PartRecord]:
        if _read_json(self.path / _JOB) != asdict(job):
            raise UsageError(
                "{name} belongs to another source or other options; repeat it without --resume to "
                "start again.",
                name=self.path.name,
            )
        # A run that was killed while it removed its working folder leaves job.json alone.
        (self.path / _PARTS).mkdir(exist_ok=True)
        parts = {}
        for path in sorted((self.path / _PARTS).glob("*.json")):
            values = _read_json(path)
            if values is not None:
                parts[path.stem] = PartRecord.from_json(values, path.name)
        return parts

    @staticmethod
    def _write(path: Path, values: dict[str, Any]) -> None:
        aside = path.with_name(path.name + ".partial")
        aside.write_text(json.dumps(values), encoding="utf-8")  # escapes names that are no UTF-8
        aside.replace(path)


def _is_replaced(folder: Path) -> bool:
    """Whether a folder is a checkpoint that was replaced, or what was left of one."""
    is_ours = (folder / MANIFEST_NAME).is_file()
    return is_ours or (folder.is_dir() and not any(folder.iterdir()))


def _is_whole(folder: Path) -> bool:
    """Whether nothing of a checkpoint was removed."""
    manifest = _read_json(folder / MANIFEST_NAME)
    files = manifest.get("files") if manifest is not None else None
    return isinstance(files, dict) and all((folder / name).is_file() for name in files)


def _remove_replaced(folder: Path) -> None:
    """The manifest last: it tells the next run what a killed one did not get to remove."""
    if not _is_replaced(folder):
        return
    for path in folder.iterdir():
        if path.name != MANIFEST_NAME:
            with suppress(OSError):
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _read_json(path: Path) -> dict[str, Any] | None:
    """None for a file that a killed run left damaged: its part is simply made again."""
    try:
        values = read_json(path)
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) else None
