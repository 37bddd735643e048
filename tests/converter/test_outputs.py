"""Where a conversion writes: links, the current folder, what stands beside it, a full disk."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path

import pytest

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.core.errors import RoomError, UsageError
from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tiny GGUF in a folder of its own."""
    folder = tmp_path / "source"
    folder.mkdir()
    model = TinyModel("llama")
    return write_gguf(folder / "tiny.gguf", model, to_gguf_tensors(model, model.weights()))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_foreign_folder_named_replaced_is_not_touched(source: Path, tmp_path: Path) -> None:
    replaced = tmp_path / "out.replaced"
    replaced.mkdir()
    (replaced / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"out\.replaced is in the way"):
        convert(source, tmp_path / "out")
    assert names_in(replaced) == ["mine.txt"]
    assert names_in(tmp_path) == ["out.replaced", source.parent.name]


@pytest.mark.parametrize("num_left", [1, 2])
def test_what_a_killed_replacement_left_goes(num_left: int, source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    convert(source, output)
    shutil.copytree(output, tmp_path / "out.replaced")
    for path in sorted((tmp_path / "out.replaced").iterdir()):
        if path.name not in ("manifest.json", "config.json")[:num_left]:
            path.unlink()
    convert(source, output, overwrite=True)
    assert names_in(tmp_path) == ["out", source.parent.name]


def test_a_removal_that_is_cut_short_can_be_told(source: Path, tmp_path: Path) -> None:
    """The manifest goes last: what has none belongs to the user."""
    output, gone = tmp_path / "out", []
    convert(source, output)
    unlink = Path.unlink

    def note(path: Path, missing_ok: bool = False) -> None:
        gone.append(path.name)
        assert (path.parent / "manifest.json").is_file() or ".replaced" not in str(path)
        unlink(path, missing_ok)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", note)
        convert(source, output, overwrite=True)
    assert {"config.json", "embed.safetensors"} <= set(gone)
    assert names_in(tmp_path) == ["out", source.parent.name]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
@pytest.mark.parametrize("target_exists", [True, False])
def test_a_link_stays_one(target_exists: bool, source: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    if target_exists:
        target.mkdir()
    link.symlink_to(target, target_is_directory=True)
    for overwrite in (False, True):
        convert(source, link, overwrite=overwrite)
        assert link.is_symlink()
        assert Checkpoint.is_native_dir(target)
        assert names_in(tmp_path) == ["link", source.parent.name, "target"]


@pytest.mark.skipif(sys.platform == "win32", reason="the current folder cannot be renamed there")
def test_the_current_folder_is_an_output(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out"
    output.mkdir()
    monkeypatch.chdir(output)
    convert(source, Path("."))
    assert Checkpoint.is_native_dir(output)
    assert names_in(tmp_path) == ["out", source.parent.name]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are Unicode")
def test_a_name_that_is_no_utf_8(source: Path, tmp_path: Path) -> None:
    path = source.rename(source.with_name(os.fsdecode(b"mod\xff.gguf")))
    convert(path, tmp_path / "out")
    assert Checkpoint.open(tmp_path / "out").manifest.source.name == "mod\N{REPLACEMENT CHARACTER}"


def test_a_disk_that_refuses_the_first_byte_leaves_nothing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(RoomError, match="out could not be written: No space left on device"):
        convert(source, tmp_path / "out")
    assert names_in(tmp_path) == [source.parent.name]
