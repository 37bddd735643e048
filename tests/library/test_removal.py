"""What is removed goes whole, comes back, and takes nothing along that others need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from huggingface_hub import scan_cache_dir, try_to_load_from_cache

from app.core.errors import ResourceError, UsageError
from app.core.holds import held
from app.core.library_events import ItemKind, ItemPlace, LibraryItem
from app.library.removal import plan_removal, remove, restore
from app.library.scan import Roots, scan
from app.library.trash import SystemTrash, TrashMissingError
from tests.converter.gptq_folder import create_folder
from tests.hub.fake_hub import FakeHub
from tests.library.disk import convert_tiny, fetch_commit, fetch_snapshot, read_bytes, tree

REPO = "org/name"
Find = Callable[[str], LibraryItem]


@pytest.fixture
def find(tmp_path: Path, cache: Path) -> Find:
    """An item by its name."""

    def find(name: str, kind: ItemKind | None = None) -> LibraryItem:
        items = scan(Roots(tmp_path / "library", (tmp_path / "sources",), cache)).items
        (item,) = (i for i in items if i.name == name and kind in (None, i.kind))
        return item

    return find


def test_a_checkpoint_goes_and_comes_back(tmp_path: Path, find: Find, trash_home: Path) -> None:
    checkpoint = convert_tiny(tmp_path / "library", "团队/小 model, 100%")
    before, trash = tree(tmp_path / "library"), SystemTrash()
    item = find("团队/小 model, 100%")
    plan = plan_removal(item)
    removed = remove(item, plan, trash)
    assert not checkpoint.exists()
    assert plan.num_bytes == item.size_bytes
    assert [path.name for path in (trash_home / "files").iterdir()] == [checkpoint.name]
    restore(removed, trash)
    assert tree(tmp_path / "library") == before
    assert list((trash_home / "info").iterdir()) == []


def test_two_of_the_same_name_come_back_one_by_one(
    tmp_path: Path, find: Find, trash_home: Path
) -> None:
    trash, removed = SystemTrash(), []
    for number in (1, 2):
        checkpoint = convert_tiny(tmp_path / "library", "tiny", seed=number)
        os.utime(checkpoint, (number, number))
        item = find("tiny", ItemKind.CHECKPOINT)
        removed.append(remove(item, plan_removal(item), trash))
    for name, when in (("tiny", 1), ("tiny 1", 2)):
        os.utime(trash_home / "info" / f"{name}.trashinfo", (when, when))
    restore(removed[1], trash)
    with pytest.raises(ResourceError, match="is there already"):
        restore(removed[0], trash)
    assert checkpoint.stat().st_mtime == 2


def test_what_is_no_longer_in_the_trash(tmp_path: Path, find: Find, trash_home: Path) -> None:
    convert_tiny(tmp_path / "library", "tiny")
    item, trash = find("tiny", ItemKind.CHECKPOINT), SystemTrash()
    removed = remove(item, plan_removal(item), trash)
    for folder in ("files", "info"):
        (trash_home / folder).rename(trash_home / f"emptied {folder}")
    with pytest.raises(ResourceError, match="no longer in the trash"):
        restore(removed, trash)


def test_for_good(tmp_path: Path, find: Find, trash_home: Path) -> None:
    convert_tiny(tmp_path / "library", "tiny")
    item = find("tiny", ItemKind.CHECKPOINT)
    assert remove(item, plan_removal(item), None).trashed == ()
    assert list((tmp_path / "library").iterdir()) == []
    assert not trash_home.exists()


def test_without_a_trash_nothing_is_removed(
    tmp_path: Path, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = convert_tiny(tmp_path / "library", "tiny")

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", "/.Trash-1000")

    monkeypatch.setattr("app.library.trash.send2trash", refuse)
    before, item = tree(checkpoint), find("tiny", ItemKind.CHECKPOINT)
    with pytest.raises(TrashMissingError, match="could not be moved to the trash"):
        remove(item, plan_removal(item), SystemTrash())
    assert tree(checkpoint) == before


OTHER_VOLUME = Path("/dev/shm")
OTHER_TRASH = OTHER_VOLUME / f".Trash-{os.getuid() if sys.platform != 'win32' else 0}"


@pytest.fixture
def without_trash() -> Iterator[Path]:
    """A folder on another volume whose place for a trash is taken by a file."""
    folder = OTHER_VOLUME / f"deepinfer test {os.getpid()}"
    folder.mkdir()
    OTHER_TRASH.touch()  # a test that was killed has left one
    yield folder
    OTHER_TRASH.unlink()
    shutil.rmtree(folder)


@pytest.mark.skipif(not os.path.ismount(OTHER_VOLUME), reason="/dev/shm is no other volume here")
@pytest.mark.skipif(OTHER_TRASH.is_dir(), reason="somebody's trash is in /dev/shm")
def test_a_volume_without_trash_is_told(without_trash: Path) -> None:
    (without_trash / "file").write_text("stays")
    with pytest.raises(TrashMissingError):
        SystemTrash().put(without_trash)
    assert (without_trash / "file").read_text() == "stays"


def test_what_is_in_use_stays(tmp_path: Path, find: Find) -> None:
    checkpoint = convert_tiny(tmp_path / "library", "tiny")
    item = find("tiny", ItemKind.CHECKPOINT)
    with held(checkpoint, "loaded"), pytest.raises(ResourceError, match="is loaded right now"):
        plan_removal(item)


def test_what_another_process_converts_stays(tmp_path: Path, find: Find) -> None:
    convert_tiny(tmp_path / "library", "tiny")
    item = find("tiny", ItemKind.SOURCE)
    program = (
        "import sys\nfrom pathlib import Path\nfrom app.core.holds import Hold\n"
        "hold = Hold(Path(sys.argv[1]), 'being converted')\nprint(flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(item.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    ) as process:
        assert process.stdout
        process.stdout.readline()
        with pytest.raises(ResourceError, match="being converted right now"):
            plan_removal(item)
        process.communicate()
    assert plan_removal(item).paths == (item.path,)


def test_a_checkpoint_that_holds_another_stays(tmp_path: Path, find: Find) -> None:
    checkpoint = convert_tiny(tmp_path / "library", "tiny")
    (checkpoint / "inner").mkdir()
    with pytest.raises(UsageError, match="holds folders"):
        plan_removal(find("tiny", ItemKind.CHECKPOINT))


def test_a_folder_of_the_users_goes_only_with_nothing_else_in_it(
    tmp_path: Path, find: Find, trash_home: Path
) -> None:
    (tmp_path / "sources").mkdir()
    folder = create_folder().write(tmp_path / "sources" / "gptq")
    assert plan_removal(find("gptq")).paths == (folder,)
    (folder / "mine").mkdir()
    item = find("gptq")
    assert set(plan_removal(item).paths) == {p for p in folder.iterdir() if p.name != "mine"}
    remove(item, plan_removal(item), SystemTrash())
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_a_folder_that_holds_no_model_stays(tmp_path: Path) -> None:
    closed = LibraryItem(
        ItemKind.DAMAGED, "closed", tmp_path, ItemPlace.FOLDER, 0, problem="cannot be read"
    )
    with pytest.raises(UsageError, match="is a folder of yours"):
        plan_removal(closed)


@pytest.fixture
def two_revisions(
    tmp_path: Path, cache: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An older one with a file of its own, the newer one with another model, one model in both."""
    first = read_bytes(tmp_path / "Tiny-Q4.gguf")
    second = first[:-1] + b"x"
    old = {"Tiny-Q4.gguf": first, "old.bin": b"o" * 5000, "config.json": b"{}"}
    fetch_commit(monkeypatch, hub, cache, REPO, "a" * 40, old)
    new = {"Tiny-Q4.gguf": first, "sub/Tiny-Q8.gguf": second, "config.json": b"{}"}
    fetch_commit(monkeypatch, hub, cache, REPO, "b" * 40, new)
    return cache / "models--org--name"


def test_an_older_revision_goes_as_the_hubs_own_library_removes_it(
    two_revisions: Path, cache: Path, find: Find, trash_home: Path
) -> None:
    strategy = scan_cache_dir(cache).delete_revisions("a" * 40)
    item = find(REPO)
    plan = plan_removal(item)
    assert set(plan.paths) == {path.resolve() for path in strategy.blobs}
    assert plan.num_bytes == strategy.expected_freed_size == 5000
    before, trash = tree(cache), SystemTrash()
    removed = remove(item, plan, trash)
    assert not (two_revisions / "snapshots" / ("a" * 40)).exists()
    assert not scan_cache_dir(cache).warnings
    for name in ("Tiny-Q4.gguf", "sub/Tiny-Q8.gguf", "config.json"):
        found = try_to_load_from_cache(REPO, name, cache_dir=cache)
        assert isinstance(found, str), name
        assert Path(found).is_file(), name
    restore(removed, trash)
    assert tree(cache) == before


def test_one_model_of_several_goes_alone(
    two_revisions: Path, cache: Path, find: Find, trash_home: Path
) -> None:
    item = find("Tiny-Q8")
    remove(item, plan_removal(item), SystemTrash())
    assert not item.path.exists()
    assert not item.path.parent.exists()
    assert find("Tiny-Q4").path.is_file()
    assert not scan_cache_dir(cache).warnings


def test_bytes_that_another_revision_needs_stay(two_revisions: Path, find: Find) -> None:
    """The model of both: its name goes, the bytes are the older revision's."""
    item = find("Tiny-Q4")
    plan = plan_removal(item)
    assert (plan.paths, plan.links, plan.num_bytes) == ((), (item.path,), 0)
    remove(item, plan, None)
    older = two_revisions / "snapshots" / ("a" * 40) / "Tiny-Q4.gguf"
    assert older.is_file()


@pytest.mark.parametrize("has_links", [True, False])
def test_the_only_model_takes_its_repository_along(
    tmp_path: Path, cache: Path, hub: FakeHub, find: Find, trash_home: Path, has_links: bool
) -> None:
    hub.add(REPO, {"Tiny.gguf": read_bytes(tmp_path / "Tiny.gguf"), "config.json": b"{}"})
    fetch_snapshot(hub, cache, REPO, has_links=has_links)
    item = find("Tiny")
    plan = plan_removal(item)
    assert plan.paths == (cache / "models--org--name",)
    before, trash = tree(cache), SystemTrash()
    removed = remove(item, plan, trash)
    assert scan_cache_dir(cache).repos == frozenset()
    restore(removed, trash)
    assert tree(cache) == before


def test_a_download_under_way_stays(tmp_path: Path, cache: Path, hub: FakeHub, find: Find) -> None:
    hub.add(REPO, {"Tiny.gguf": read_bytes(tmp_path / "Tiny.gguf"), "config.json": b"{}"})
    fetch_snapshot(hub, cache, REPO)
    partial = cache / "models--org--name" / "blobs" / f"{'c' * 64}.incomplete"
    partial.write_bytes(b"123")
    lock = cache / ".locks" / "models--org--name" / f"{'c' * 64}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    item = find(REPO, ItemKind.DOWNLOAD)
    with FileLock(lock), pytest.raises(ResourceError, match="being downloaded right now"):
        plan_removal(item)
    plan = plan_removal(item)
    assert (plan.paths, plan.num_bytes) == ((partial,), 3)
    model = find("Tiny")
    assert plan_removal(model).paths == (model.path.resolve(),)  # the partial file stays
