"""Hashes are computed when a file may have changed, and only then."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from app.checkpoint import verification
from app.checkpoint.tensor_file import FileRecord, TensorFile, hash_file, write_tensors
from app.checkpoint.verification import verify_files
from app.core.errors import CheckpointError

SECONDS_LATER = 3_000_000_000


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were hashed, while the clock is beyond their youth."""
    names: list[str] = []

    def count(path: Path) -> FileRecord:
        names.append(path.name)
        return hash_file(path)

    now = time.time_ns
    monkeypatch.setattr(verification, "hash_file", count)
    monkeypatch.setattr(verification.time, "time_ns", lambda: now() + SECONDS_LATER)
    return names


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_text(name)
    return folder


def records_of(folder: Path) -> dict[str, FileRecord]:
    """What a manifest would say."""
    return {path.name: hash_file(path) for path in folder.iterdir()}


def test_untouched_files_are_hashed_once(folder: Path, hashed: list[str]) -> None:
    records = records_of(folder)
    for _ in range(3):
        verify_files(folder, records)
    assert sorted(hashed) == ["a", "b"]


def test_a_changed_file_is_noticed_though_its_size_and_time_stay(
    folder: Path, hashed: list[str]
) -> None:
    records = records_of(folder)
    verify_files(folder, records)
    status = (folder / "a").stat()
    time.sleep(0.02)  # a tick of the file system's clock
    (folder / "a").write_text("x")
    os.utime(folder / "a", ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(CheckpointError, match="a is damaged"):
        verify_files(folder, records)
    with pytest.raises(CheckpointError, match="a is damaged"):
        verify_files(folder, records)


def test_another_manifest_is_another_question(folder: Path, hashed: list[str]) -> None:
    records = records_of(folder)
    verify_files(folder, records)
    with pytest.raises(CheckpointError, match="b is damaged"):
        verify_files(folder, records | {"b": FileRecord(1, "0" * 64)})


def test_young_files_are_not_trusted(
    folder: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written_ns = (folder / "a").stat().st_mtime_ns
    monkeypatch.setattr(verification.time, "time_ns", lambda: written_ns + 1)
    for _ in range(2):
        verify_files(folder, records_of(folder))
    assert sorted(hashed) == ["a", "a", "b", "b"]


def test_what_is_remembered_may_be_damaged_or_gone(
    folder: Path, hashed: list[str], deepinfer_home: Path
) -> None:
    records = records_of(folder)
    memory = deepinfer_home / "verified.json"
    for content in ("[]", "{", '{"/gone": {}}'):
        memory.write_text(content)
        verify_files(folder, records)
        assert list(json.loads(memory.read_text())) == [str(folder.resolve())]
    assert len(hashed) == 6


@pytest.mark.skipif(sys.platform == "win32", reason="Windows trims by itself")
def test_release_makes_the_process_smaller(tmp_path: Path) -> None:
    array = np.ones(16 << 20, np.uint8)
    write_tensors(tmp_path / "x.safetensors", {"x": array})
    file = TensorFile(tmp_path / "x.safetensors")
    view = file.array("x")
    assert view.sum() == array.size
    before = psutil.Process().memory_info().rss
    file.release()
    assert before - psutil.Process().memory_info().rss > 0.9 * array.size
    assert view.sum() == array.size
    del view
    file.close()
