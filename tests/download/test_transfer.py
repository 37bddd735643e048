"""One file: whatever happens on the way, its bytes are right and none of them comes twice."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from app.core.errors import InvalidSourceError, JobCancelledError, ResourceError
from app.core.jobs import CancelToken, cancellable_by
from app.download.partial import PartialFile
from app.download.progress import Meter
from app.download.route import Route
from app.download.transfer import CHUNK_BYTES, Arrived, Transfer
from app.hub.client import HubClient
from app.hub.repository import RemoteFile
from tests.hub.fake_hub import FakeHub

REPO, NAME = "org/name", "model.gguf"
CONTENT = random.Random(7).randbytes(3_000_001)
FULL_DISK = Path("/dev/full")


@pytest.fixture
def hub(impatient: None) -> Iterator[FakeHub]:
    """One large and one small file; a second of silence is an error."""
    with FakeHub().running() as hub:
        hub.add(REPO, {NAME: CONTENT, "small.json": b'{"a": 1}', "empty.txt": b""})
        yield hub


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    """Where it grows."""
    return tmp_path / "blobs" / "file.partial"


def _fetch(hub: FakeHub, partial: Path, name: str = NAME) -> tuple[Arrived, Meter]:
    client = HubClient(hub.endpoint)
    repository = client.repository(REPO)
    file = next(file for file in repository.files if file.path == name)
    meter = Meter(file.num_bytes)
    transfer = Transfer(Route((client,), repository), repository, meter)
    arrived = transfer.fetch(file, partial, partial.parent / "lock")
    return arrived, meter


def check_arrived(hub: FakeHub, partial: Path, arrived: Arrived, meter: Meter) -> None:
    assert partial.read_bytes() == CONTENT
    assert arrived.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert meter.read().done_bytes == len(CONTENT)


@pytest.mark.parametrize("name", ["small.json", "empty.txt"])
def test_small_files_are_verified_by_gits_digest(hub: FakeHub, partial: Path, name: str) -> None:
    arrived, _ = _fetch(hub, partial, name)
    content = hub.repos[REPO][name].content
    assert isinstance(content, bytes)
    assert partial.read_bytes() == content
    assert arrived == Arrived(hashlib.sha256(content).hexdigest(), 0)


@pytest.mark.parametrize("size", [1, CHUNK_BYTES - 1, CHUNK_BYTES, 2_345_678, len(CONTENT)])
def test_what_is_there_is_not_fetched_again(hub: FakeHub, partial: Path, size: int) -> None:
    partial.parent.mkdir()
    partial.write_bytes(CONTENT[:size])
    arrived, meter = _fetch(hub, partial)
    check_arrived(hub, partial, arrived, meter)
    assert arrived.resumed_bytes == size
    ranges = [(request.start, request.sent) for request in hub.sent(NAME)]
    assert ranges == ([(size, len(CONTENT) - size)] if size < len(CONTENT) else [])


def test_cuts_lose_a_chunk_at_most(hub: FakeHub, partial: Path) -> None:
    hub.faults.cuts = [1, 700_001, CHUNK_BYTES, 999_999]
    arrived, meter = _fetch(hub, partial)
    check_arrived(hub, partial, arrived, meter)
    answers = hub.sent(NAME)
    assert len(answers) == 5
    for before, after in pairwise(answers):
        assert before.start is not None
        assert after.start is not None
        assert 0 <= before.start + before.sent - after.start <= CHUNK_BYTES + (1 << 16)


def test_silence_ends_and_the_rest_follows(hub: FakeHub, partial: Path) -> None:
    hub.faults.silences = [1_000_000]
    arrived, meter = _fetch(hub, partial)
    check_arrived(hub, partial, arrived, meter)
    assert len(hub.sent(NAME)) == 2


def test_wrong_bytes_are_fetched_once_more(hub: FakeHub, partial: Path) -> None:
    hub.faults.wrong = [NAME]
    arrived, meter = _fetch(hub, partial)
    check_arrived(hub, partial, arrived, meter)
    assert [(r.start, r.sent) for r in hub.sent(NAME)] == [(0, len(CONTENT))] * 2


def test_wrong_bytes_that_stay_wrong_are_refused(
    hub: FakeHub, partial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(Meter, "tell", lambda _meter, note: told.append(note))
    hub.faults.wrong = [NAME, NAME]
    with pytest.raises(InvalidSourceError, match=r"model\.gguf arrived twice with bytes"):
        _fetch(hub, partial)
    assert not partial.exists()
    assert told == [f"{NAME} arrived with wrong bytes; it is fetched once more."]


def test_a_server_without_ranges_starts_again(hub: FakeHub, partial: Path) -> None:
    partial.parent.mkdir()
    partial.write_bytes(CONTENT[:1_000_000])
    hub.faults.is_deaf = True
    arrived, meter = _fetch(hub, partial)
    check_arrived(hub, partial, arrived, meter)
    assert arrived.resumed_bytes == 0


def test_a_partial_file_that_is_too_long_is_of_no_use(hub: FakeHub, partial: Path) -> None:
    partial.parent.mkdir()
    partial.write_bytes(CONTENT + b"x")
    arrived, meter = _fetch(hub, partial)
    check_arrived(hub, partial, arrived, meter)
    assert arrived.resumed_bytes == 0


def test_errors_of_the_server_pass(hub: FakeHub, partial: Path) -> None:
    hub.faults.refusals = [(503, {}), (500, {})]
    arrived, meter = _fetch(hub, partial)
    assert hub.faults.refusals == [], "it met both"
    check_arrived(hub, partial, arrived, meter)


def test_errors_of_the_server_that_stay_are_said(hub: FakeHub, partial: Path) -> None:
    hub.faults.cuts = [500_000]
    hub.faults.refusals = [None, *[(500, {})] * 3]
    with pytest.raises(ResourceError, match="what has arrived is kept"):
        _fetch(hub, partial)
    kept = partial.stat().st_size
    assert kept > 500_000 - CHUNK_BYTES
    assert _fetch(hub, partial)[0].resumed_bytes == kept


def test_a_cancel_keeps_what_has_arrived(hub: FakeHub, partial: Path) -> None:
    token = CancelToken()
    client = HubClient(hub.endpoint)
    repository = client.repository(REPO)

    class CancellingMeter(Meter):
        def received(self, num_bytes: int, path: str = "") -> None:
            super().received(num_bytes, path)
            token.cancel()

    meter = CancellingMeter(len(CONTENT))
    transfer = Transfer(Route((client,), repository), repository, meter)
    with cancellable_by(token), pytest.raises(JobCancelledError):
        transfer.fetch(repository.files[0], partial, partial.parent / "lock")
    assert partial.stat().st_size == CHUNK_BYTES
    assert _fetch(hub, partial)[0].resumed_bytes == CHUNK_BYTES


def test_two_downloads_of_one_file_do_not_meet(hub: FakeHub, partial: Path) -> None:
    from filelock import FileLock

    partial.parent.mkdir()
    with (
        FileLock(partial.parent / "lock"),
        pytest.raises(ResourceError, match="downloads the same file"),
    ):
        _fetch(hub, partial)


@pytest.mark.skipif(not FULL_DISK.exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_named_and_keeps_the_file(
    hub: FakeHub, partial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullFile(PartialFile):
        def __init__(self, path: Path, remote: RemoteFile, meter: Meter) -> None:
            super().__init__(path, remote, meter)
            self._stream.close()
            self._stream = FULL_DISK.open("wb", buffering=0)

    monkeypatch.setattr("app.download.transfer.PartialFile", FullFile)
    with pytest.raises(ResourceError, match=r"The disk is full after 0 B of model\.gguf"):
        _fetch(hub, partial)
    assert partial.exists()
