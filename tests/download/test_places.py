"""The standard cache is filled and read without asking anyone; what is moved away is noticed."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants, scan_cache_dir, try_to_load_from_cache

from app.core.errors import ResourceError
from app.download.file_plan import FilePlan
from app.download.partial import SUFFIX
from app.download.places import CachePlace
from app.download.progress import Meter
from app.download.pull import PullResult, pull
from app.hub.client import HubClient
from tests.hub.fake_hub import COMMIT, FakeHub

REPO, NAME = "org/name", "sub/model.gguf"
CONTENT = random.Random(6).randbytes(2_000_003)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """One large and one small file."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with FakeHub().running() as hub:
        hub.add(REPO, {NAME: CONTENT, "config.json": b'{"a": 1}'})
        yield hub


def _place(hub: FakeHub, cache: Path) -> CachePlace:
    client = HubClient(hub.endpoint, cache)
    return CachePlace(client, client.repository(REPO))


def _pull(place: CachePlace) -> PullResult:
    plan = FilePlan("name", place.repository.files)
    return pull(plan, place, Meter(plan.num_bytes), num_threads=2)


def test_nobody_is_asked_for_what_is_here(hub: FakeHub, tmp_path: Path) -> None:
    place = _place(hub, tmp_path)
    _pull(place)
    for gone in (tmp_path / "models--org--name" / "snapshots", None):
        if gone is not None:
            shutil.rmtree(gone)
        hub.requests.clear()
        assert all(place.has(file) for file in place.repository.files)
        assert all(place.missing_bytes(file) == 0 for file in place.repository.files)
        _pull(place)
        assert hub.requests == [], "links are made without the hub"
    link = place.folder / NAME
    assert link.is_symlink()
    assert not Path(os.readlink(link)).is_absolute(), "the cache may be moved"
    assert link.read_bytes() == CONTENT


def test_a_look_changes_nothing(hub: FakeHub, tmp_path: Path) -> None:
    place = _place(hub, tmp_path)
    _pull(place)
    shutil.rmtree(place.folder)
    assert all(place.has(file) for file in place.repository.files)
    assert not place.folder.exists()


def test_others_find_what_is_in_the_cache(hub: FakeHub, tmp_path: Path) -> None:
    place = _place(hub, tmp_path)
    _pull(place)
    place.remember("main")
    found = try_to_load_from_cache(REPO, NAME, tmp_path, "main")
    assert found == str(place.folder / NAME)
    scan = scan_cache_dir(tmp_path)
    assert scan.warnings == []
    (repo,) = scan.repos
    (revision,) = repo.revisions
    assert (revision.commit_hash, set(revision.refs)) == (COMMIT, {"main"})
    assert {file.file_name for file in revision.files} == {"model.gguf", "config.json"}


def _while_it_comes(hub: FakeHub, tmp_path: Path, what: str) -> None:
    """Does something to the folder when a part has arrived."""
    storage = tmp_path / "models--org--name"

    def act() -> None:
        while not any(path.stat().st_size > 300_000 for path in storage.rglob(f"*{SUFFIX}")):
            time.sleep(0.01)
        if what == "move":
            storage.rename(tmp_path / "moved")
        else:
            shutil.rmtree(storage)

    hub.faults.pause_s = 0.005
    thread = threading.Thread(target=act)
    thread.start()
    try:
        _pull(_place(hub, tmp_path))
    finally:
        thread.join()


@pytest.mark.skipif(os.name == "nt", reason="Windows does not move what is open")
@pytest.mark.parametrize("what", ["move", "delete"])
def test_a_folder_that_goes_while_it_is_filled_is_one_sentence(
    hub: FakeHub, tmp_path: Path, what: str
) -> None:
    with pytest.raises(ResourceError, match="moved or deleted while a file was downloaded"):
        _while_it_comes(hub, tmp_path, what)
    hub.faults.pause_s = 0.0
    assert (_pull(_place(hub, tmp_path)).path / NAME).read_bytes() == CONTENT


def test_a_repository_that_is_renamed_meanwhile_still_arrives(hub: FakeHub, tmp_path: Path) -> None:
    """A hub redirects from the old name to the new one, on the same host."""
    place = _place(hub, tmp_path)
    new = "org/renamed"
    hub.faults.cuts = [700_000]
    rename = threading.Timer(0.1, lambda: hub.faults.renamed.update({REPO: new}))
    hub.add(new, {NAME: CONTENT, "config.json": b'{"a": 1}'})
    hub.faults.pause_s = 0.005
    rename.start()
    result = _pull(place)
    rename.join()
    assert (result.path / NAME).read_bytes() == CONTENT
    assert any(new in request.path for request in hub.requests)
