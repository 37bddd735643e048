"""A path that the program is started with: talked with at once, or converted first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.ui.opening import find_checkpoint


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "我的 models" / "模型 one.Q4_1.gguf"
    path.parent.mkdir()
    path.write_bytes(b"GGUF" * 4)
    return path


@pytest.fixture
def library(tmp_path: Path, source: Path) -> Path:
    made = tmp_path / "library" / "模型 one.Q4_1"
    made.mkdir(parents=True)
    manifest = {"source": {"format": "gguf", "name": "模型 one.Q4_1", "bytes": 16}}
    (made / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return made.parent


def test_what_was_converted_is_found(source: Path, library: Path) -> None:
    assert find_checkpoint(source, library) == library / "模型 one.Q4_1"


def test_a_checkpoint_is_opened_itself(source: Path, library: Path) -> None:
    made = library / "模型 one.Q4_1"
    assert find_checkpoint(made, library) == made


def test_another_file_of_that_name_is_not_taken_for_it(source: Path, library: Path) -> None:
    source.write_bytes(b"GGUF" * 5)
    assert find_checkpoint(source, library) is None


@pytest.mark.parametrize("text", ["", "{}", '{"source": 1}', '{"source": {}}', "[1]"])
def test_a_damaged_manifest_is_no_checkpoint(source: Path, library: Path, text: str) -> None:
    (library / "模型 one.Q4_1" / "manifest.json").write_text(text, encoding="utf-8")
    assert find_checkpoint(source, library) is None


def test_what_is_new_is_converted(source: Path, tmp_path: Path) -> None:
    assert find_checkpoint(source, tmp_path / "no library") is None
