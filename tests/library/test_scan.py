"""What a scan finds: each thing once, with its bytes counted once, and damage by name."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from huggingface_hub import scan_cache_dir

from app.checkpoint.last_used import note_use
from app.core.errors import JobCancelledError
from app.core.holds import held
from app.core.jobs import CancelToken, cancellable_by
from app.core.library_events import (
    FreeUpReason,
    ItemKind,
    ItemPlace,
    LastUse,
    LibraryItem,
    LibraryScanned,
)
from app.library.scan import Roots, scan
from app.library.verify import verify
from tests.converter.gptq_folder import create_folder
from tests.hub.fake_hub import FakeHub
from tests.library.disk import (
    convert_tiny,
    fetch_commit,
    fetch_snapshot,
    read_bytes,
    write_tiny_gguf,
)

REPO = "org/name"


def _scan(library: Path, cache: Path, *folders: Path) -> LibraryScanned:
    return scan(Roots(library, folders, cache))


def _kinds(scanned: LibraryScanned) -> list[tuple[ItemKind, str]]:
    return sorted((item.kind, item.name) for item in scanned.items)


def _only(scanned: LibraryScanned, kind: ItemKind) -> LibraryItem:
    (item,) = (item for item in scanned.items if item.kind is kind)
    return item


def test_nothing_is_there(tmp_path: Path) -> None:
    found = _scan(tmp_path / "nowhere", tmp_path / "no cache", tmp_path)
    assert found.items == ()
    assert found.is_complete
    assert found.space.total_bytes > 0


def test_a_drive_that_is_gone_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows: a library on a stick that was pulled out; not even the root of its path is there."""
    monkeypatch.setattr(Path, "exists", lambda path: False)
    found = scan(Roots(tmp_path / "library", (), tmp_path / "cache"))
    assert found.is_complete
    assert (found.space.free_bytes, found.space.total_bytes) == (0, 0)


def test_a_checkpoint_and_what_it_was_made_of(tmp_path: Path) -> None:
    library, folder = tmp_path / "library", tmp_path / "sources"
    checkpoint = convert_tiny(library, "团队/tiny model")
    found = _scan(library, tmp_path, folder)
    item = _only(found, ItemKind.CHECKPOINT)
    assert (item.name, item.path, item.place) == ("团队/tiny model", checkpoint, ItemPlace.LIBRARY)
    assert item.size_bytes == sum(f.stat().st_size for f in checkpoint.iterdir())
    assert (item.architecture, item.grid) == ("LlamaForCausalLM", "W32")
    assert item.is_lossless
    source = _only(found, ItemKind.SOURCE)
    assert (source.name, source.place) == ("tiny model", ItemPlace.FOLDER)
    assert (source.architecture, source.grid) == ("LlamaForCausalLM", "F32")
    assert source.checkpoint == checkpoint


def test_its_use_is_our_own_record(tmp_path: Path) -> None:
    checkpoint = convert_tiny(tmp_path / "library", "tiny")
    item = _only(_scan(tmp_path / "library", tmp_path), ItemKind.CHECKPOINT)
    assert item.last_use is not LastUse.LOADED
    before = time.time()
    note_use(checkpoint)
    item = _only(_scan(tmp_path / "library", tmp_path), ItemKind.CHECKPOINT)
    assert item.last_use is LastUse.LOADED
    assert before <= item.used_s <= time.time()


def test_reading_counts_only_when_the_system_notes_it(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "models" / "tiny.gguf")
    os.utime(path, (1_000_000, 2_000_000))
    item = _only(_scan(tmp_path / "library", tmp_path, path.parent), ItemKind.SOURCE)
    assert (item.used_s, item.last_use) == (2_000_000, LastUse.CHANGED)
    # That it was opened to see what it is was no use.
    item = _only(_scan(tmp_path / "library", tmp_path, path.parent), ItemKind.SOURCE)
    assert (item.used_s, item.last_use) == (2_000_000, LastUse.CHANGED)
    os.utime(path, (3_000_000, 2_000_000))
    item = _only(_scan(tmp_path / "library", tmp_path, path.parent), ItemKind.SOURCE)
    assert (item.used_s, item.last_use) == (3_000_000, LastUse.READ)


def test_what_is_loaded_is_busy(tmp_path: Path) -> None:
    checkpoint = convert_tiny(tmp_path / "library", "tiny")
    with held(checkpoint, "loaded"):
        item = _only(_scan(tmp_path / "library", tmp_path), ItemKind.CHECKPOINT)
    assert item.busy == "loaded"


def test_damage_is_named(tmp_path: Path) -> None:
    library = tmp_path / "library"
    checkpoint = convert_tiny(library, "a")
    for name in "bc":
        shutil.copytree(checkpoint, library / name)
    (library / "a" / "layer_00.safetensors").unlink()
    with (library / "b" / "embed.safetensors").open("ab") as stream:
        stream.write(b"!")
    (library / "c" / "manifest.json").write_text("{")
    problems = {item.name: item.problem for item in _scan(library, tmp_path).items}
    assert problems["a"] == "layer_00.safetensors cannot be read (No such file or directory)."
    assert problems["b"].startswith("embed.safetensors has ")
    assert "manifest.json" in problems["c"]


def test_an_interrupted_conversion_and_leftovers(tmp_path: Path) -> None:
    library = tmp_path / "library"
    checkpoint = convert_tiny(library, "tiny")
    shutil.copytree(checkpoint, library / ".removed-old-77")
    shutil.copytree(checkpoint, library / "tiny.replaced")
    shutil.copytree(checkpoint, library / "lost.replaced")
    for name in (".hidden", ".partial", ".replaced"):
        shutil.copytree(checkpoint, library / name)
    from app.converter.plan import Options
    from app.converter.sources.detect import open_source
    from app.converter.workdir import Job, WorkDir

    source = open_source(tmp_path / "sources" / "tiny.gguf")
    WorkDir(library / "again").open(Job.of(source, Options(), False, "test"), resume=False)
    source.close()
    (library / "stray.partial").mkdir()
    (library / "stray.partial" / "notes.txt").write_text("not ours")
    found = _scan(library, tmp_path)
    conversion = _only(found, ItemKind.CONVERSION)
    assert (conversion.name, conversion.source) == ("again", source.path)
    damaged = {item.path.name: item.problem for item in found.items if item.problem}
    assert set(damaged) == {".removed-old-77", "tiny.replaced", "lost.replaced"}
    assert "the older one" in damaged["lost.replaced"]
    reasons = {(one.reason, one.item.path.name) for one in found.free_up}
    assert reasons == {
        (FreeUpReason.CONVERSION, "again.partial"),
        (FreeUpReason.LEFTOVER, ".removed-old-77"),
    }


def test_sources_of_the_cache_are_counted_once(
    tmp_path: Path, cache: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (read_bytes(tmp_path / f"{n}.gguf") for n in ("Tiny-Q4", "Tiny-Q8"))
    old = {"Tiny-Q4.gguf": first, "old.bin": b"o" * 5000, "config.json": b"{}"}
    fetch_commit(monkeypatch, hub, cache, REPO, "a" * 40, old)
    new = {"Tiny-Q4.gguf": first, "Tiny-Q8.gguf": second[:-1] + b"x", "config.json": b"{}"}
    fetch_commit(monkeypatch, hub, cache, REPO, "b" * 40, new)
    found = _scan(tmp_path / "library", cache)
    assert _kinds(found) == [
        (ItemKind.OTHER, REPO),
        (ItemKind.SOURCE, "Tiny-Q4"),
        (ItemKind.SOURCE, "Tiny-Q8"),
    ]
    older = _only(found, ItemKind.OTHER)
    # Its model is the new revision's, too.
    assert (older.commit, older.refs, older.size_bytes) == ("a" * 40, (), 5000 + 2)
    (repo,) = scan_cache_dir(cache).repos
    assert sum(item.size_bytes for item in found.items) == repo.size_on_disk
    assert [one.reason for one in found.free_up] == [FreeUpReason.OLD_REVISION]
    current = next(item for item in found.items if item.name == "Tiny-Q8")
    assert (current.repo_id, current.refs) == (REPO, ("main",))


@pytest.mark.parametrize("has_links", [True, False])
def test_a_folder_of_the_cache(tmp_path: Path, cache: Path, hub: FakeHub, has_links: bool) -> None:
    folder = create_folder().write(tmp_path / "source")
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    hub.add(REPO, files)
    snapshot = fetch_snapshot(hub, cache, REPO, has_links=has_links)
    assert (snapshot / "config.json").is_symlink() is has_links
    item = _only(_scan(tmp_path / "library", cache), ItemKind.SOURCE)
    assert (item.name, item.path, item.grid) == (REPO, snapshot, "gptq")
    assert item.size_bytes == sum(map(len, files.values()))
    weights = snapshot / "model.safetensors"
    with weights.resolve().open("r+b") as stream:
        stream.truncate(len(files["model.safetensors"]) - 5)
    item = _only(_scan(tmp_path / "library", cache), ItemKind.DAMAGED)
    assert (item.name, item.path) == (REPO, snapshot)
    assert "model.safetensors" in item.problem


def test_a_link_whose_bytes_are_gone(tmp_path: Path, cache: Path, hub: FakeHub) -> None:
    hub.add(REPO, {"Tiny.gguf": read_bytes(tmp_path / "Tiny.gguf"), "config.json": b"{}"})
    snapshot = fetch_snapshot(hub, cache, REPO)
    (snapshot / "Tiny.gguf").resolve().unlink()
    item = _only(_scan(tmp_path / "library", cache), ItemKind.DAMAGED)
    assert item.problem == "The bytes of Tiny.gguf are gone."


def test_what_has_not_arrived(tmp_path: Path, cache: Path) -> None:
    blobs = cache / "models--org--name" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{'a' * 64}.incomplete").write_bytes(b"1234")
    (blobs / f"{'b' * 64}.deepinfer-partial").write_bytes(b"123")
    for path in blobs.iterdir():
        os.utime(path, (time.time() - 8 * 86_400,) * 2)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "x.gguf.deepinfer-partial").write_bytes(b"12")
    found = _scan(tmp_path / "library", cache, folder)
    sizes = {item.name: item.size_bytes for item in found.items}
    assert sizes == {REPO: 7, "x.gguf": 2}
    assert {item.kind for item in found.items} == {ItemKind.DOWNLOAD}
    assert [(one.reason, one.item.name) for one in found.free_up] == [
        (FreeUpReason.OLD_DOWNLOAD, REPO)
    ]


def test_other_repositories_of_the_cache(tmp_path: Path, cache: Path, hub: FakeHub) -> None:
    hub.add(REPO, {"pytorch_model.onnx": b"123", "config.json": b"{}"})
    fetch_snapshot(hub, cache, REPO)
    (cache / "models--org--name").rename(cache / "datasets--org--name")
    item = _only(_scan(tmp_path / "library", cache), ItemKind.OTHER)
    assert item.size_bytes == 5 + len("0" * 40)  # with the ref


@pytest.mark.skipif(os.name == "nt", reason="modes of folders are not Windows'")
def test_an_unreadable_folder_hides_only_itself(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, closed = tmp_path / "library", tmp_path / "closed"
    convert_tiny(library, "tiny")
    closed.mkdir()
    _close_to_us(monkeypatch, closed)
    found = _scan(library, cache, closed)
    assert _only(found, ItemKind.CHECKPOINT).name == "tiny"
    assert _only(found, ItemKind.DAMAGED).problem == "closed cannot be read (Permission denied)."


def _close_to_us(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Root reads everything; then the system's answer is given here."""
    folder.chmod(0)
    real = os.scandir

    def scandir(path: object = ".") -> object:
        if os.fspath(path) == str(folder):  # type: ignore[arg-type]
            raise PermissionError(13, "Permission denied", str(folder))
        return real(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", scandir)


def test_a_verified_checkpoint_makes_its_source_dispensable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, folder = tmp_path / "library", tmp_path / "sources"
    checkpoint = convert_tiny(library, "tiny")
    for file in checkpoint.iterdir():
        os.utime(file, (1e9, 1e9))
    assert _scan(library, tmp_path, folder).free_up == ()
    item = _only(_scan(library, tmp_path, folder), ItemKind.CHECKPOINT)
    # Files as young as these are not trusted to show a change.
    monkeypatch.setattr("app.checkpoint.verification._SETTLED_NS", 0)
    assert verify(item).broken == ()
    found = _scan(library, tmp_path, folder)
    assert [(one.reason, one.item.name) for one in found.free_up] == [
        (FreeUpReason.CONVERTED, "tiny")
    ]


def test_what_was_recognised_is_not_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models"
    write_tiny_gguf(folder / "one.gguf")
    before = _scan(tmp_path / "library", tmp_path, folder)
    monkeypatch.setattr("app.library.recognition.open_source", None)
    after = _scan(tmp_path / "library", tmp_path, folder)
    assert [item.grid for item in after.items] == [item.grid for item in before.items] == ["F32"]


def test_a_scan_can_be_cancelled(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "models" / "one.gguf")
    token = CancelToken()
    token.cancel()
    with cancellable_by(token), pytest.raises(JobCancelledError):
        _scan(tmp_path / "library", tmp_path, tmp_path / "models")


def test_a_broken_file_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "broken.gguf").write_bytes(b"GGUF")
    found = _scan(tmp_path / "library", tmp_path, folder)
    assert _only(found, ItemKind.DAMAGED).name == "broken"
