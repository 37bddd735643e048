"""The library lists, finds and names native checkpoints, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.core.errors import CheckpointError
from app.hub.library import choose_output, find_by_source, list_entries, require_entry, resolve


@pytest.fixture
def library(tmp_path: Path, starter_checkpoint: Path) -> Path:
    """Two checkpoints, one of them in a sub-folder, beside things that are none."""
    folder = tmp_path / "library"
    for name in ("starter", "团队/small model"):
        shutil.copytree(starter_checkpoint, folder / name, copy_function=_link)
    (folder / "not a model").mkdir()
    (folder / "not a model" / "notes.txt").write_text("keep me")
    return folder


def _link(source: str, target: str) -> None:
    Path(target).hardlink_to(source)


def test_entries_are_sorted_and_named_by_their_folder(library: Path) -> None:
    entries = list_entries(library)
    assert [entry.name for entry in entries] == ["starter", "团队/small model"]
    first = entries[0]
    assert first.path == library / "starter"
    assert (first.architecture, first.source_format) == ("LlamaForCausalLM", "gguf")
    files = [file for file in first.path.iterdir() if file.name != "manifest.json"]
    assert first.total_bytes == sum(file.stat().st_size for file in files)
    assert first.is_lossless


def test_a_library_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert list_entries(tmp_path / "nowhere") == ()


def test_a_damaged_checkpoint_hides_only_itself(library: Path) -> None:
    manifest = library / "starter" / "manifest.json"
    manifest.unlink()
    manifest.write_text("{", encoding="utf-8")
    assert [entry.name for entry in list_entries(library)] == ["团队/small model"]


@pytest.mark.parametrize("name", ["starter.partial", ".hidden", "starter.replaced"])
def test_unfinished_work_is_not_listed(library: Path, name: str) -> None:
    (library / "starter").rename(library / name)
    assert [entry.name for entry in list_entries(library)] == ["团队/small model"]


def test_a_name_or_a_path_is_resolved(library: Path) -> None:
    assert resolve("starter", library) == library / "starter"
    assert resolve("团队/small model", library) == library / "团队" / "small model"
    assert resolve(library / "starter", library) == library / "starter"
    assert resolve("not a model", library) is None
    assert resolve("nothing", library) is None


def test_a_source_already_converted_is_found(library: Path) -> None:
    entry = list_entries(library)[0]
    assert find_by_source(library, entry.source_name, entry.source_bytes) == entry
    assert find_by_source(library, entry.source_name, entry.source_bytes + 1) is None
    assert find_by_source(library, "other", entry.source_bytes) is None


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("fresh", "fresh"),
        ("starter", "starter-2"),
        ("org/model: a?b", "org-model- a-b"),
        ("..", "model"),
        ("trailing. ", "trailing"),
    ],
)
def test_an_output_is_free_and_a_valid_name(library: Path, name: str, folder: str) -> None:
    assert choose_output(library, name) == library / folder


def test_a_name_must_be_one_of_the_library(library: Path) -> None:
    assert require_entry("starter", library).path == library / "starter"
    for name in ("nothing", "not a model", "团队", ".", "..", "../outside"):
        with pytest.raises(CheckpointError, match="not a name in the library"):
            require_entry(name, library)


def test_a_checkpoint_with_a_short_file_hides_only_itself(library: Path) -> None:
    embed = library / "starter" / "embed.safetensors"
    content = embed.read_bytes()[:-1]
    embed.unlink()  # the name leads to bytes that other tests need
    embed.write_bytes(content)
    assert [entry.name for entry in list_entries(library)] == ["团队/small model"]
    with pytest.raises(CheckpointError, match=r"embed\.safetensors has"):
        require_entry("starter", library)
