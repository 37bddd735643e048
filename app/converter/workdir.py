"""`<output>.partial`: where a conversion grows until it is whole, and what a later run needs to go on with it.

job.json            the arguments, and the source's files with sizes and times
parts/<stem>.json   a part that is on disk, with its hash
checkpoint/         the files themselves; renamed to the output at the end
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.checkpoint.writer import PartRecord
from app.converter.sources.base import Source
from app.core.errors import UsageError

_JOB, _PARTS, _CHECKPOINT = "job.json", "parts", "checkpoint"


@dataclass(frozen=True, slots=True)
class Job:
    """What must be the same for finished parts to be worth keeping."""

    source: str
    files: list[list[Any]]  # [name, bytes, modification time in ns]
    grid: str
    group_size: int
    tool: str

    @classmethod
    def of(cls, source: Source, grid: str, group_size: int, tool: str) -> Job:
        """The job of converting `source` with these options."""
        stats = [(path, path.stat()) for path in source.files]
        files = [[path.name, stat.st_size, stat.st_mtime_ns] for path, stat in stats]
        return cls(str(source.path.resolve()), files, grid, group_size, tool)


class WorkDir:
    """The working folder of one output."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.path = output.with_name(output.name + ".partial")
        self.checkpoint = self.path / _CHECKPOINT

    def open(self, job: Job, *, resume: bool) -> dict[str, PartRecord]:
        """Makes the folder, or goes on with one of the same job; returns the parts that it records.

        Raises UsageError when another job's parts are there and `resume` asks to go on with them, or when the
        folder holds something that is not ours.
        """
        if self.path.exists() and not self._is_ours():
            raise UsageError(
                f"{self.path.name} is in the way and is not a conversion's working folder."
            )
        if resume and (self.path / _JOB).is_file():
            return self._resume(job)
        self.remove()
        (self.path / _PARTS).mkdir(parents=True)
        self._write(self.path / _JOB, asdict(job))
        return {}

    def record(self, stem: str, part: PartRecord) -> None:
        """Notes that a part is whole on disk."""
        self._write(self.path / _PARTS / f"{stem}.json", part.to_json())

    def remove(self) -> None:
        """Leaves nothing behind."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _is_ours(self) -> bool:
        names = {path.name for path in self.path.iterdir()} if self.path.is_dir() else {""}
        return not names or _JOB in names or names <= {_PARTS, f"{_JOB}.partial"}

    def _resume(self, job: Job) -> dict[str, PartRecord]:
        if _read_json(self.path / _JOB) != asdict(job):
            raise UsageError(
                f"{self.path.name} belongs to a conversion of another source or with other options; "
                "repeat it without --resume to start again."
            )
        parts = {}
        for path in sorted((self.path / _PARTS).glob("*.json")):
            values = _read_json(path)
            if values is not None:
                parts[path.stem] = PartRecord.from_json(values, path.name)
        return parts

    @staticmethod
    def _write(path: Path, values: dict[str, Any]) -> None:
        aside = path.with_name(path.name + ".partial")
        aside.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
        aside.replace(path)


def _read_json(path: Path) -> dict[str, Any] | None:
    """None for a file that a killed run left damaged: its part is simply made again."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) else None
