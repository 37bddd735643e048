"""Every byte is read; a single flipped one is found, and its file named."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from app.checkpoint.manifest import Manifest
from app.checkpoint.verification import is_verified
from app.core.errors import JobCancelledError
from app.core.jobs import CancelToken, cancellable_by
from app.core.library_events import ItemKind, LibraryItem
from app.library.scan import Roots, scan
from app.library.verify import verify
from tests.hub.fake_hub import FakeHub
from tests.library.disk import convert_tiny, fetch_snapshot, read_bytes

REPO = "org/name"


def _find(tmp_path: Path, cache: Path, kind: ItemKind) -> LibraryItem:
    items = scan(Roots(tmp_path / "library", (tmp_path / "sources",), cache)).items
    (item,) = (item for item in items if item.kind is kind)
    return item


def _flip(path: Path, position: int) -> None:
    with path.open("r+b") as stream:
        stream.seek(position)
        byte = stream.read(1)
        stream.seek(position)
        stream.write(bytes([byte[0] ^ 1]))


def test_a_sound_checkpoint(tmp_path: Path) -> None:
    checkpoint = convert_tiny(tmp_path / "library", "tiny")
    item, heard = _find(tmp_path, tmp_path, ItemKind.CHECKPOINT), []
    result = verify(item, lambda path, num_bytes: heard.append((path.name, num_bytes)))
    records = Manifest.read(checkpoint).files
    assert (result.num_files, result.broken, result.unchecked) == (len(records), (), ())
    assert result.num_bytes == sum(record.num_bytes for record in records.values())
    assert sum(num_bytes for _, num_bytes in heard) == result.num_bytes


def test_every_broken_file_is_named(tmp_path: Path) -> None:
    checkpoint = convert_tiny(tmp_path / "library", "tiny")
    item = _find(tmp_path, tmp_path, ItemKind.CHECKPOINT)
    last = (checkpoint / "embed.safetensors").stat().st_size - 1
    _flip(checkpoint / "embed.safetensors", last)
    (checkpoint / "tokenizer.json").unlink()
    result = verify(item)
    assert {broken.reason for broken in result.broken} == {
        "embed.safetensors is damaged: its sha256 is not the manifest's.",
        "tokenizer.json cannot be read (No such file or directory).",
    }
    assert not is_verified(checkpoint, Manifest.read(checkpoint).files)


def test_it_can_be_cancelled(tmp_path: Path) -> None:
    convert_tiny(tmp_path / "library", "tiny")
    item, token = _find(tmp_path, tmp_path, ItemKind.CHECKPOINT), CancelToken()
    with cancellable_by(token), pytest.raises(JobCancelledError):
        verify(item, lambda path, num_bytes: token.cancel())


@pytest.fixture
def hub_with_model(tmp_path: Path, hub: FakeHub) -> FakeHub:
    """A model and a small file of Git's."""
    hub.add(REPO, {"Tiny.gguf": read_bytes(tmp_path / "Tiny.gguf"), "config.json": b"{}"})
    return hub


def test_blobs_are_compared_with_their_names(
    tmp_path: Path, cache: Path, hub_with_model: FakeHub
) -> None:
    snapshot = fetch_snapshot(hub_with_model, cache, REPO)
    item = _find(tmp_path, cache, ItemKind.SOURCE)
    result = verify(item)
    assert (result.num_files, result.broken, result.unchecked) == (1, (), ())
    blob = (snapshot / "Tiny.gguf").resolve()
    assert hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name
    _flip(blob, 100)
    (broken,) = verify(item).broken
    assert broken.path == snapshot / "Tiny.gguf"
    assert broken.reason == "Tiny.gguf is damaged: its digest is not the hub's."


def test_small_files_have_gits_digest(tmp_path: Path, cache: Path, hub: FakeHub) -> None:
    hub.add(REPO, {"notes.txt": b"hello", "config.json": b"{}"})
    snapshot = fetch_snapshot(hub, cache, REPO)
    item = _find(tmp_path, cache, ItemKind.OTHER)
    assert verify(item).broken == ()
    _flip((snapshot / "notes.txt").resolve(), 0)
    names = {broken.path.name for broken in verify(item).broken}
    assert "notes.txt" in names


def test_copies_are_compared_with_the_hubs_list(
    tmp_path: Path, cache: Path, hub_with_model: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    snapshot = fetch_snapshot(hub_with_model, cache, REPO, has_links=False)
    item = _find(tmp_path, cache, ItemKind.SOURCE)
    result = verify(item)  # no network in tests
    assert result.broken == ()
    assert len(result.unchecked) == 1
    assert result.unchecked[0].startswith("Tiny.gguf: ")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_ENDPOINT", hub_with_model.endpoint)
    assert verify(item).unchecked == ()
    _flip(snapshot / "Tiny.gguf", 100)
    assert [broken.path.name for broken in verify(item).broken] == ["Tiny.gguf"]


def test_of_a_plain_folder_nobody_knows(tmp_path: Path) -> None:
    convert_tiny(tmp_path / "library", "tiny")
    result = verify(_find(tmp_path, tmp_path, ItemKind.SOURCE))
    assert (result.num_files, result.broken) == (0, ())
    assert result.unchecked == (
        "tiny.gguf lies in a plain folder, which says nothing of its digest.",
    )
