"""Conversations' KV caches on disk: files that are whole, right and ours, or are not used."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from app.engine.kv_store import Data, KVStore, StoredConversation, remove_conversation

KEY = "conversation 1"


def page(seed: int, num_bytes: int = 1000) -> Data:
    """Bytes of a page."""
    return np.random.default_rng(seed).integers(0, 256, num_bytes, dtype=np.uint8)


def save(store: KVStore, key: str = KEY, seed: int = 0, num_pages: int = 3) -> StoredConversation:
    """A conversation of so many pages and a state."""
    pages = tuple(store.write(key, page(seed * 100 + n)) for n in range(num_pages))
    state = store.write(key, page(seed * 100 + 99))
    conversation = StoredConversation(tuple(range(10 * num_pages)), pages, state)
    store.finish(key, conversation)
    return conversation


def files(directory: Path) -> list[Path]:
    """Every file below."""
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_what_is_saved_is_found_by_another_store(tmp_path: Path) -> None:
    saved = save(KVStore(tmp_path, "a"))
    store = KVStore(tmp_path, "a")
    assert store.find(KEY) == saved
    assert saved.state is not None
    for n, blob in enumerate((*saved.pages, saved.state)):
        expected = page(n if n < 3 else 99)
        np.testing.assert_array_equal(store.read(KEY, blob), expected)
    assert store.find("another") is None


def test_a_key_of_any_kind_stays_within_the_directory(tmp_path: Path) -> None:
    store = KVStore(tmp_path / "kv", "a")
    for key in ("../../evil", "/etc/passwd", "对话", "a" * 5000, ""):
        save(store, key)
        assert store.find(key) is not None
    assert {path.parts[len(tmp_path.parts)] for path in files(tmp_path)} == {"kv"}


def test_pages_that_are_there_are_not_written_again(tmp_path: Path) -> None:
    store = KVStore(tmp_path, "a")
    first = save(store, num_pages=2)
    before = {path.name: path.stat().st_mtime_ns for path in files(tmp_path)}
    second = save(store, num_pages=3)
    after = {path.name: path.stat().st_mtime_ns for path in files(tmp_path)}
    assert second.pages[:2] == first.pages
    assert all(after[blob.name] == before[blob.name] for blob in first.pages)


def test_what_a_new_index_does_not_name_is_gone(tmp_path: Path) -> None:
    store = KVStore(tmp_path, "a")
    save(store, seed=1)
    second = save(store, seed=2)
    assert second.state is not None
    names = {blob.name for blob in (*second.pages, second.state)}
    assert {path.name for path in files(tmp_path)} == {"index.json", *names}


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_only_the_user_may_read_what_was_said(tmp_path: Path) -> None:
    save(KVStore(tmp_path, "a"))
    assert {path.stat().st_mode & 0o077 for path in files(tmp_path)} == {0}


# --- damage --------------------------------------------------------------------------------------


def read_all(store: KVStore) -> StoredConversation | None:
    """The conversation, if every file of it can be read."""
    found = store.find(KEY)
    if found is None:
        return None
    blobs = (*found.pages, *((found.state,) if found.state else ()))
    return found if all(store.read(KEY, blob) is not None for blob in blobs) else None


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "missing"])
@pytest.mark.parametrize("index", range(5))
def test_damage_anywhere_is_noticed_and_removed_with_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str, index: int
) -> None:
    store = KVStore(tmp_path, "a")
    save(store)
    path = files(tmp_path)[index]
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    else:
        content[len(content) // 2] ^= 1
        size = {"flip": len(content), "cut": len(content) - 1, "empty": 0}[damage]
        path.write_bytes(content[:size])
    with caplog.at_level(logging.WARNING):
        assert read_all(store) is None
        KVStore(tmp_path, "a")
    assert files(tmp_path) == []
    assert "Removed the KV cache" in caplog.text
    save(store)
    assert read_all(store) is not None


def test_each_byte_of_an_index_matters(tmp_path: Path) -> None:
    store = KVStore(tmp_path, "a")
    save(store, num_pages=1)
    (path,) = tmp_path.rglob("index.json")
    content = path.read_bytes()
    for position in range(len(content)):
        save(store, num_pages=1)
        flipped = bytearray(content)
        flipped[position] ^= 4
        path.write_bytes(flipped)
        assert store.find(KEY) is None


def test_what_another_model_wrote_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    save(KVStore(tmp_path, "a"))
    with caplog.at_level(logging.WARNING):
        assert KVStore(tmp_path, "b").find(KEY) is None
    assert "of another model" in caplog.text
    assert files(tmp_path) == []


_WRITER = """
import sys
from pathlib import Path
import numpy as np
from app.engine.kv_store import KVStore, StoredConversation
store = KVStore(Path(sys.argv[1]), "a")
print("ready", flush=True)
turn = int(sys.argv[2])
while True:
    turn += 1
    pages = tuple(
        store.write("conversation 1", np.full(1 << 18, (turn * 7 + n) % 251, np.uint8))
        for n in range(8)
    )
    store.finish("conversation 1", StoredConversation((turn,), pages))
"""


def wait_for_file(folder: Path, name: str) -> None:
    while not list(folder.rglob(name)):
        time.sleep(0.005)


def test_killed_while_it_writes_what_is_found_is_whole(tmp_path: Path) -> None:
    """The old conversation or the new one, never something between."""
    chance = random.Random(1)
    num_found = 0
    for attempt in range(12):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path), str(attempt * 1000)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        if attempt == 0:  # however slow the machine is, something is to be found
            wait_for_file(tmp_path, "index.json")
        time.sleep(chance.uniform(0.0, 0.05))
        os.kill(writer.pid, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        writer.wait()
        writer.stdout.close()
        store = KVStore(tmp_path, "a")
        assert not list(tmp_path.rglob("*.part"))
        found = store.find(KEY)
        if found is not None:
            num_found += 1
            (turn,) = found.token_ids
            for n, blob in enumerate(found.pages):
                data = store.read(KEY, blob)
                assert data is not None
                assert set(np.unique(data)) == {(turn * 7 + n) % 251}
    assert num_found > 0


# --- room ----------------------------------------------------------------------------------------


def test_the_longest_unused_goes_when_the_limit_is_reached(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = KVStore(tmp_path, "a", limit_bytes=14_000)  # three of four kB and a bit
    for n, key in enumerate(("one", "two", "three")):
        save(store, key, seed=n)
        (index,) = (p for p in tmp_path.rglob("index.json") if p.stat().st_mtime > 2000)
        os.utime(index, (1000 + n, 1000 + n))
    assert store.find("one") is not None  # used: now the newest
    save(store, "four", seed=9)
    kept = [key for key in ("one", "two", "three", "four") if store.find(key)]
    assert kept == ["one", "three", "four"]
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 14_000


def test_a_conversation_beyond_the_limit_or_the_disk_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = KVStore(tmp_path / "kv", "a", limit_bytes=5000)
    assert store.can_hold(5000)
    assert not store.can_hold(5001)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1 << 30})())
    assert not store.can_hold(10)


def test_a_deleted_conversation_leaves_nothing(tmp_path: Path) -> None:
    store = KVStore(tmp_path, "a")
    save(store)
    save(store, "other")
    store.forget(KEY)
    assert store.find(KEY) is None
    remove_conversation(tmp_path, "other")
    assert files(tmp_path) == []
