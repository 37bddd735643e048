"""The library moves whole: renamed, copied or killed, each checkpoint is always somewhere."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.checkpoint.last_used import last_uses, note_use
from app.core.errors import JobCancelledError, ResourceError, UsageError
from app.core.holds import held
from app.core.jobs import CancelToken, cancellable_by
from app.hub.library import list_entries
from app.library import copying, move
from app.library.move import find_interrupted_target, forget_move, move_library
from tests.library.disk import convert_tiny, tree

NAMES = ("a", "团队/b", "long " + "n" * 60)


def _quietly(name: str, done: int, total: int) -> None:
    pass


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Three checkpoints, one in a folder, and something of the user's."""
    folder = tmp_path / "library"
    first = convert_tiny(folder, NAMES[0])
    for name in NAMES[1:]:
        shutil.copytree(first, folder / name)
    (folder / "团队" / "notes.txt").write_text("mine")
    return folder


@pytest.fixture
def elsewhere(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every folder is on a volume of its own."""
    real = os.rename

    def rename(source: object, target: object, **kwargs: object) -> None:
        if os.path.dirname(str(source)) != os.path.dirname(str(target)):
            raise OSError(18, "Invalid cross-device link", str(source))
        real(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "rename", rename)


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_everything_arrives(
    library: Path, tmp_path: Path, is_elsewhere: bool, request: pytest.FixtureRequest
) -> None:
    if is_elsewhere:
        request.getfixturevalue("elsewhere")
    before, target = tree(library), tmp_path / "new 位置"
    note_use(library / "a")
    heard: list[tuple[str, int, int]] = []
    names = move_library(library, target, lambda *told: heard.append(told))
    assert set(names) == set(NAMES)
    assert {e.name for e in list_entries(target)} == set(NAMES)
    assert tree(library) == {"团队": None, "团队/notes.txt": b"mine"}
    moved = tree(target)
    assert moved == {path: before[path] for path in moved}
    assert heard[-1][1] == heard[-1][2] == sum(map(len, filter(None, moved.values())))
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard)
    assert last_uses.find(target / "a") is not None
    assert find_interrupted_target() == target  # until the settings know
    forget_move()
    assert find_interrupted_target() is None


def test_an_interrupted_conversion_moves_too(library: Path, tmp_path: Path) -> None:
    parts = library / "half.partial"
    (parts / "parts").mkdir(parents=True)
    text = '{"source": "/s.gguf", "files": [], "options": {}, "allow_lossy": false, "tool": "t"}'
    (parts / "job.json").write_text(text)
    move_library(library, tmp_path / "new", _quietly)
    assert (tmp_path / "new" / "half.partial" / "parts").is_dir()
    assert not parts.exists()


@pytest.mark.parametrize("inside", ["", "inner", "inner/deeper", "../library/x"])
def test_a_target_inside_is_refused(library: Path, inside: str) -> None:
    before = tree(library)
    with pytest.raises(UsageError, match=r"inside the library itself|already"):
        move_library(library, library / inside, _quietly)
    assert tree(library) == before


def test_a_link_to_the_inside_is_refused(library: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(library / "团队", target_is_directory=True)
    with pytest.raises(UsageError, match="inside the library"):
        move_library(library, tmp_path / "link", _quietly)


def test_a_name_that_is_taken_is_refused(library: Path, tmp_path: Path) -> None:
    (tmp_path / "new" / "a").mkdir(parents=True)
    before = tree(library)
    with pytest.raises(UsageError, match="is there already; nothing was moved"):
        move_library(library, tmp_path / "new", _quietly)
    assert tree(library) == before


def test_what_is_loaded_is_refused(library: Path, tmp_path: Path) -> None:
    with held(library / "团队" / "b", "loaded"), pytest.raises(ResourceError, match="is loaded"):
        move_library(library, tmp_path / "new", _quietly)
    assert len(list_entries(library)) == len(NAMES)


@pytest.mark.usefixtures("elsewhere")
def test_too_little_room_is_known_before_the_first_byte(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move, "_is_same_volume", lambda first, second: False)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1 << 20))
    with pytest.raises(ResourceError, match=r"The library takes .* has 1\.0 MiB"):
        move_library(library, tmp_path / "new", _quietly)
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("elsewhere")
def test_a_copy_that_was_not_written_right_is_found(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = copying.copy_file

    def spoil(source: Path, target: Path) -> object:
        record = real(source, target)
        if target.name == "embed.safetensors":
            target.write_bytes(target.read_bytes()[:-1] + b"?")
        return record

    monkeypatch.setattr(move, "copy_file", spoil)
    with pytest.raises(ResourceError, match=r"embed\.safetensors was not written as it was read"):
        move_library(library, tmp_path / "new", _quietly)
    assert len(list_entries(library)) == len(NAMES)


@pytest.mark.usefixtures("elsewhere")
def test_a_cancelled_move_goes_on(library: Path, tmp_path: Path) -> None:
    before, target, token = tree(library), tmp_path / "new", CancelToken()

    def cancel(name: str, done: int, total: int) -> None:
        if done > total // 2:
            token.cancel()

    with cancellable_by(token), pytest.raises(JobCancelledError):
        move_library(library, target, cancel)
    assert find_interrupted_target() == target
    names = [e.name for folder in (library, target) for e in list_entries(folder)]
    assert sorted(names) == sorted(NAMES)
    move_library(library, target, _quietly)
    moved = tree(target)
    assert moved == {path: before[path] for path in moved}
    assert {e.name for e in list_entries(target)} == set(NAMES)


_CHILD = """
import errno, os, sys, time
from pathlib import Path
from app.library.move import move_library
real = os.rename
def rename(source, target, **kwargs):
    if os.path.dirname(str(source)) != os.path.dirname(str(target)):
        raise OSError(errno.EXDEV, "another volume", str(source))
    real(source, target)
os.rename = rename
from app.library import copying
copying._BLOCK_BYTES = 1 << 12  # so that a kill lands inside files, too
print("ready", flush=True)
move_library(Path(sys.argv[1]), Path(sys.argv[2]), lambda *told: time.sleep(0.002))
"""


def _begin(library: Path, target: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(library), str(target)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert process.stdout
    process.stdout.readline()
    return process


@pytest.mark.slow
def test_a_move_killed_anywhere_loses_nothing(library: Path, tmp_path: Path) -> None:
    before, target, chance = tree(library), tmp_path / "new", random.Random()
    for _ in range(12):
        with _begin(library, target) as process:
            time.sleep(chance.uniform(0.0, 0.12))
            process.kill()
            process.wait()
        found = {name: e for f in (library, target) for name, e in _sound(f).items()}
        assert set(found) == set(NAMES)
        if not list_entries(library):
            break
    with _begin(library, target) as process:
        assert process.wait() == 0
    moved = tree(target)
    assert moved == {path: before[path] for path in moved}
    assert {e.name for e in list_entries(target)} == set(NAMES)
    assert tree(library) == {"团队": None, "团队/notes.txt": b"mine"}


def _sound(folder: Path) -> dict[str, Path]:
    return {entry.name: entry.path for entry in list_entries(folder)}
