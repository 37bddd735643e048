"""Hugging Face's cache as it lies on this disk, read without a network and without its library.

Layout, as huggingface_hub's guide "Manage the cache" has it: `models--org--name/{blobs,refs,
snapshots}`. Files of a snapshot are links to blobs, or, where a system has no links, themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import constants

from app.core.sentence import Sentence
from app.core.system_reason import system_reason
from app.download.partial import SUFFIX

_KINDS = ("models", "datasets", "spaces")
_PARTIAL_SUFFIXES = (SUFFIX, ".incomplete")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One revision; `files` under their own names, `refs` the branches and tags that mean it."""

    commit: str
    path: Path
    refs: tuple[str, ...]
    files: tuple[Path, ...]

    @property
    def broken_links(self) -> tuple[Path, ...]:
        """Names whose bytes are gone."""
        return tuple(file for file in self.files if not file.exists())


@dataclass(frozen=True, slots=True)
class CachedRepo:
    """A repository; snapshots that a ref means come first, then the latest.

    `problem` is a sentence where it cannot be read.
    """

    path: Path
    kind: str
    repo_id: str
    snapshots: tuple[Snapshot, ...] = ()
    partials: tuple[Path, ...] = ()
    problem: str = ""

    @property
    def has_refs(self) -> bool:
        """Whether it can be told which revisions are current."""
        return any(snapshot.refs for snapshot in self.snapshots)

    @property
    def locks(self) -> Path:
        """Where huggingface_hub, and this program, lock files that are being fetched."""
        return self.path.parent / ".locks" / self.path.name


def hub_cache_dir() -> Path:
    """The standard cache, as `HF_HOME` and `HF_HUB_CACHE` say."""
    return Path(constants.HF_HUB_CACHE)


def iter_repos(cache_dir: Path) -> Iterator[CachedRepo]:
    """Every repository of a cache; nothing where there is none."""
    try:
        names = sorted(entry.name for entry in os.scandir(cache_dir) if entry.is_dir())
    except OSError:
        return
    for name in names:
        kind, _, repo_id = name.partition("--")
        if kind in _KINDS and repo_id:
            yield read_repo(cache_dir / name)


def read_repo(path: Path) -> CachedRepo:
    """One repository, as it is now."""
    kind, _, rest = path.name.partition("--")
    repo_id = rest.replace("--", "/")
    try:
        refs = _read_refs(path / "refs")
        snapshots = [_read_snapshot(folder, refs) for folder in _folders(path / "snapshots")]
        partials = tuple(p for p in _files(path / "blobs") if p.name.endswith(_PARTIAL_SUFFIXES))
        times = {snapshot.commit: snapshot.path.stat().st_mtime for snapshot in snapshots}
    except OSError as error:
        where = Path(error.filename).name if error.filename else path.name
        return CachedRepo(
            path,
            kind,
            repo_id,
            problem=Sentence(
                "{where} cannot be read ({reason}).", where=where, reason=system_reason(error)
            ),
        )
    snapshots.sort(key=lambda s: (not s.refs, -times[s.commit], s.commit))
    return CachedRepo(path, kind, repo_id, tuple(snapshots), partials)


def _read_snapshot(folder: Path, refs: dict[str, list[str]]) -> Snapshot:
    names = tuple(refs.get(folder.name, ()))
    return Snapshot(folder.name, folder, names, tuple(_files(folder)))


def _read_refs(folder: Path) -> dict[str, list[str]]:
    """Commit -> branches and tags."""
    refs: dict[str, list[str]] = {}
    for path in _files(folder):
        commit = path.read_text(encoding="utf-8", errors="replace").strip()
        refs.setdefault(commit, []).append(path.relative_to(folder).as_posix())
    return refs


def _folders(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return sorted(Path(entry.path) for entry in os.scandir(path) if entry.is_dir())


def _files(folder: Path) -> list[Path]:
    """Everything below that is no folder, broken links included; OSError where it is closed."""
    if not folder.exists():
        return []
    return sorted(
        Path(directory) / name
        for directory, _, names in os.walk(folder, onerror=_raise)
        for name in names
    )


def _raise(error: OSError) -> None:
    raise error
