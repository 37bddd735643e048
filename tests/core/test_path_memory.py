"""Facts about paths outlive the process, follow a move, and never stop anybody."""

from __future__ import annotations

from pathlib import Path

from app.core.path_memory import PathMemory


def test_what_is_remembered_is_found(tmp_path: Path) -> None:
    memory = PathMemory("facts.json")
    memory.remember(tmp_path, 5)
    assert PathMemory("facts.json").find(tmp_path / "." / "") == 5
    assert memory.find(tmp_path / "other") is None


def test_paths_that_are_gone_are_forgotten(tmp_path: Path) -> None:
    memory = PathMemory("facts.json")
    gone = tmp_path / "gone"
    gone.mkdir()
    memory.remember(gone, 1)
    gone.rmdir()
    memory.remember(tmp_path, 2)
    assert memory.read() == {str(tmp_path.resolve()): 2}


def test_facts_follow_a_move(tmp_path: Path) -> None:
    memory = PathMemory("facts.json")
    old, new = tmp_path / "模型", tmp_path / "新"
    (old / "one").mkdir(parents=True)
    (tmp_path / "模型 2").mkdir()
    memory.remember_all(
        {str(p.resolve()): n for n, p in enumerate((old, old / "one", tmp_path / "模型 2"))}
    )
    old.rename(new)
    memory.move(old, new)
    assert [memory.find(p) for p in (new, new / "one", tmp_path / "模型 2")] == [0, 1, 2]


def test_damage_is_forgetfulness(tmp_path: Path, deepinfer_home: Path) -> None:
    (deepinfer_home / "facts.json").write_text("[1, 2")
    memory = PathMemory("facts.json")
    assert memory.read() == {}
    memory.remember(tmp_path, 3)
    assert memory.find(tmp_path) == 3
