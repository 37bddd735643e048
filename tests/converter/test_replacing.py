"""A kill at any file operation of a replacement leaves a whole checkpoint, old or new."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.checkpoint.manifest import MANIFEST_NAME, Manifest
from app.converter.pipeline import convert
from app.converter.workdir import Job, WorkDir
from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf

# Ends at the file operation of this number, before it, as a killed process does.
_MOVE = """
import os, sys
from pathlib import Path
from app.checkpoint.manifest import Manifest
from app.converter.workdir import WorkDir
work, left = WorkDir(Path(sys.argv[1])), int(sys.argv[2])
manifest = Manifest.read(work.checkpoint)
def count(event, _):
    global left
    if event in ("os.rename", "os.remove", "os.rmdir"):
        left -= 1
        if left < 0:
            os._exit(9)
sys.addaudithook(count)
work.move_into_place(manifest)
"""
_JOB = Job("", [], {}, allow_lossy=False, tool="")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    model = TinyModel("llama")
    convert(
        write_gguf(folder / "a.gguf", model, to_gguf_tensors(model, model.weights())), folder / "c"
    )
    return folder / "c"


def _is_whole(folder: Path) -> bool:
    if not (folder / MANIFEST_NAME).is_file():
        return False
    return all((folder / name).is_file() for name in Manifest.read(folder).files)


@pytest.mark.slow  # forty processes
@pytest.mark.parametrize("was_killed_before", [False, True])
def test_a_kill_leaves_a_whole_checkpoint(
    was_killed_before: bool, checkpoint: Path, tmp_path: Path
) -> None:
    """With `was_killed_before` the older one was out of its place when this run began."""
    code, number = 9, 0
    while code == 9:
        output = tmp_path / str(number) / "out"
        shutil.copytree(checkpoint, output)
        if was_killed_before:
            output.rename(output.with_name("out.replaced"))
        work = WorkDir(output)
        work.open(_JOB, resume=False)
        shutil.copytree(checkpoint, work.checkpoint)
        command = [sys.executable, "-c", _MOVE, str(output), str(number)]
        code = subprocess.run(command, check=False, timeout=60).returncode
        work.open(_JOB, resume=False)  # the next start drops the unfinished one
        assert _is_whole(output), number
        number += 1
    assert code == 0
    assert number > 5


def test_a_rest_of_an_older_one_is_not_restored(checkpoint: Path, tmp_path: Path) -> None:
    """Its removal was cut short, then the user removed the newer one."""
    output = tmp_path / "out"
    shutil.copytree(checkpoint, tmp_path / "out.replaced")
    (tmp_path / "out.replaced" / "config.json").unlink()
    WorkDir(output).open(_JOB, resume=False)
    assert not output.exists()
