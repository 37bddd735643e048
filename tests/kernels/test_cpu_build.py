"""A build that was killed leaves a folder: the next build removes it, and none that is in use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.cpu import build


def test_only_folders_of_builds_that_run_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    folders = {
        name: tmp_path / name
        for name in (f"build-{ended.pid}-killed", f"build-{os.getpid()}-runs", "build-unnumbered")
    }
    for folder in folders.values():
        (folder / "CMakeFiles").mkdir(parents=True)
        (folder / "CMakeFiles" / "object.o").touch()

    def compile(scratch: Path, sanitize: str) -> Path:
        assert scratch.name.startswith(f"build-{os.getpid()}-")
        library = scratch / "library"
        library.touch()
        return library

    monkeypatch.setattr(build, "_LIBRARY_FOLDER", tmp_path)
    monkeypatch.setattr(build, "_compile", compile)
    library = build.build()
    assert sorted(tmp_path.iterdir()) == sorted([folders[f"build-{os.getpid()}-runs"], library])
