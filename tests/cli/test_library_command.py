"""What is on this disk from the command line: listed, verified, removed, moved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from app.core.holds import held
from app.core.paths import library_dir, settings_path
from app.core.settings_store import SettingsStore
from app.library.move import find_interrupted_target
from tests.library.disk import convert_tiny

NAME = "团队/tiny"


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Beside a folder with its source, and an empty hub's cache."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    made = convert_tiny(library_dir(), NAME)
    store = SettingsStore(settings_path())
    store.update(source_folders=str(library_dir().parent / "sources"))
    return made


def _run(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    assert main([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_everything_is_listed(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (entry,) = _run(capsys, "list")
    assert (entry["name"], entry["bits"], entry["path"]) == (NAME, "W32", str(checkpoint))
    items = _run(capsys, "list", "--all")
    assert [(i["kind"], i["name"], i["checkpoint"]) for i in items] == [
        ("checkpoint", NAME, None),
        ("source", "tiny", str(checkpoint)),
    ]
    assert main(["list", "--all"]) == 0
    assert "can be converted" not in capsys.readouterr().out


def test_verify_names_a_broken_file(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = _run(capsys, "verify", NAME)
    assert document["broken"] == []
    assert document["files"] == len(list(checkpoint.iterdir())) - 1
    path = checkpoint / "embed.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert main(["verify", NAME]) == 1
    assert "embed.safetensors is damaged" in capsys.readouterr().err
    assert main(["verify", "nothing"]) == 1
    assert "not a name in the library" in capsys.readouterr().err


def test_rm_moves_to_the_trash_or_says_how_else(
    checkpoint: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trashed: list[Path] = []

    def put(path: Path) -> None:
        if not trashed:
            trashed.append(path)
            raise PermissionError(13, "Permission denied", "/.Trash-1000")
        path.rename(tmp_path / "trash")

    monkeypatch.setattr("app.library.trash.send2trash", put)
    assert main(["rm", NAME]) == 1
    assert "`--permanently` deletes it for good" in capsys.readouterr().err
    assert _run(capsys, "rm", NAME)["removed"]["name"] == NAME
    assert (tmp_path / "trash" / "manifest.json").is_file()
    assert not checkpoint.exists()


def test_what_is_in_use_stays(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with held(checkpoint, "loaded"):
        assert main(["rm", NAME]) == 1
        assert "is loaded right now" in capsys.readouterr().err
        assert main(["library", "--move", str(checkpoint.parents[2] / "new")]) == 1
    assert checkpoint.is_dir()


def test_the_library_moves(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = _run(capsys, "library")
    assert (before["path"], before["models"]) == (str(library_dir()), 1)
    target = tmp_path / "新 models"
    assert _run(capsys, "library", "--move", str(target)) == {
        "path": str(target),
        "moved": [NAME],
    }
    assert library_dir() == target
    assert find_interrupted_target() is None
    assert [entry["path"] for entry in _run(capsys, "list")] == [str(target / NAME)]
    assert main(["library", "--move", str(target / "inner")]) == 2
    assert "inside the library itself" in capsys.readouterr().err


def test_a_damaged_one_can_be_removed_by_its_name(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkpoint / "manifest.json").write_text("{")
    assert _run(capsys, "list") == []
    assert main(["rm", NAME, "--permanently"]) == 0
    assert not checkpoint.exists()
