"""The queue keeps its order and survives whatever ends the program."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.hub.download_queue import DownloadQueue, QueuedDownload, QueueState

ENTRIES = tuple(
    QueuedDownload(f"org/{name}", "main", "0" * 40, f"{name}.gguf", name, 100, converted_bytes=80)
    for name in ("a", "b", "c")
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "主目录" / "downloads.json"


@pytest.fixture
def queue(path: Path) -> DownloadQueue:
    made = DownloadQueue(path)
    for entry in ENTRIES:
        made.add(entry)
    return made


def _names(queue: DownloadQueue) -> list[str]:
    return [entry.name for entry in queue]


def test_entries_are_fetched_in_their_order(queue: DownloadQueue) -> None:
    queue.change(ENTRIES[0].key, state=QueueState.PAUSED)
    assert queue.next_waiting == ENTRIES[1]
    queue.move(ENTRIES[2].key, -1)
    assert _names(queue) == ["a", "c", "b"]
    assert queue.next_waiting == ENTRIES[2]
    queue.move(ENTRIES[0].key, -1)  # it is the first already
    queue.move(ENTRIES[1].key, 1)  # and this one the last
    queue.move("unknown", 1)
    assert _names(queue) == ["a", "c", "b"]
    queue.remove(ENTRIES[2].key)
    assert _names(queue) == ["a", "b"]


def test_the_same_model_keeps_its_place(queue: DownloadQueue) -> None:
    queue.add(replace(ENTRIES[0], done_bytes=50))
    assert _names(queue) == ["a", "b", "c"]
    assert next(iter(queue)).left_bytes == 50


def test_what_ran_when_the_program_was_killed_waits_again(queue: DownloadQueue, path: Path) -> None:
    queue.change(ENTRIES[1].key, state=QueueState.RUNNING)
    queue.note_progress(ENTRIES[1].key, 60)
    queue.change(ENTRIES[0].key, state=QueueState.DONE, path="/x")
    again = DownloadQueue(path)
    assert [entry.state for entry in again] == [
        QueueState.DONE,
        QueueState.WAITING,
        QueueState.WAITING,
    ]
    assert [entry.done_bytes for entry in again] == [0, 60, 0]
    assert again.running is None
    assert again.note == ""


def test_a_newer_version_may_know_more(queue: DownloadQueue, path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    document["downloads"][0]["colour"] = "blue"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert tuple(DownloadQueue(path)) == ENTRIES


@pytest.mark.parametrize(
    "damage",
    ["", "[]", '{"downloads": [{"name": 1}]}', '{"downloads": 3}', "\x00\xff", "[" * 100_000],
)
def test_a_damaged_list_is_kept_aside_and_the_program_starts(path: Path, damage: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(damage, encoding="latin-1")
    queue = DownloadQueue(path)
    assert list(queue) == []
    assert "was damaged" in queue.note
    assert path.with_suffix(".corrupt.json").read_text(encoding="latin-1") == damage
    queue.add(ENTRIES[0])
    assert tuple(DownloadQueue(path)) == ENTRIES[:1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 3),
        ("num_bytes", "many"),
        ("num_bytes", 1.5),
        ("done_bytes", None),
        ("done_bytes", True),
        ("state", ["waiting"]),
        ("path", ["/x"]),
        ("problem", 7),
        ("problem", {"template": "{0}", "values": {"a": 1}}),
        ("problem", {"template": "{a.b}", "values": {"a": 1}}),
    ],
)
def test_a_value_of_another_type_is_damage(
    name: str, value: object, queue: DownloadQueue, path: Path
) -> None:
    """Found at the start, not where it is shown."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["downloads"][0][name] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    again = DownloadQueue(path)
    assert list(again) == []
    assert "was damaged" in again.note
    assert json.loads(path.with_suffix(".corrupt.json").read_text(encoding="utf-8")) == document


def test_a_list_that_cannot_be_read_now_is_left_as_it_is(
    queue: DownloadQueue, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program has it locked; it is there at the next start."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as locked:
        locked.setattr(Path, "read_text", refuse)
        blind = DownloadQueue(path)
    assert "cannot be read (Permission denied)" in blind.note
    blind.add(replace(ENTRIES[0], name="another"))
    assert _names(blind) == ["another"]
    assert _names(DownloadQueue(path)) == ["a", "b", "c"]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_unknown_state_does_not_crash_the_start(queue: DownloadQueue, path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    document["downloads"][0]["state"] = "dancing"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert list(DownloadQueue(path)) == []
