"""Files of one model on several threads; the first that fails stops all."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.errors import InvalidSourceError, JobCancelledError
from app.core.jobs import CancelToken, cancellable_by, check_cancelled
from app.download.crew import run_all
from app.download.file_plan import FilePlan
from app.download.places import CachePlace
from app.download.progress import FileState, Meter
from app.download.pull import PullResult, pull
from app.hub.client import HubClient
from tests.hub.fake_hub import FakeHub

REPO = "org/Shards"
SHARDS = {
    f"model-{number:05d}-of-00012.safetensors": random.Random(number).randbytes(700_001 + number)
    for number in range(1, 13)
}


@pytest.fixture
def hub(impatient: None) -> Iterator[FakeHub]:
    """Twelve shards; a second of silence is an error."""
    with FakeHub().running() as hub:
        hub.add(REPO, SHARDS)
        yield hub


def _pull(hub: FakeHub, cache: Path, num_threads: int = 12) -> tuple[PullResult, Meter]:
    client = HubClient(hub.endpoint, cache)
    repository = client.repository(REPO)
    plan = FilePlan("Shards", repository.files)
    meter = Meter(plan.num_bytes)
    result = pull(plan, CachePlace(client, repository), meter, num_threads=num_threads)
    return result, meter


def test_twelve_files_arrive_side_by_side(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.pause_s = 0.005
    hub.faults.cuts = [100_000, 300_000, 1]
    hub.faults.silences = [0, 0, 0, 0, 200_000]
    hub.faults.wrong = ["model-00003-of-00012.safetensors"]
    seen: list[int] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.01):
            starts = [r.path for r in hub.requests if r.start is not None and r.sent < 700_000]
            seen.append(len(set(starts)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    result, meter = _pull(hub, tmp_path)
    ended.set()
    watcher.join()
    assert max(seen) >= 6, "they come at the same time"
    assert {file.name for file in result.files} == set(SHARDS)
    for file in result.files:
        assert file.path.read_bytes() == SHARDS[file.name]
    progress = meter.read()
    assert progress.done_bytes == progress.total_bytes
    assert {file.state for file in progress.files} == {FileState.DONE}
    assert all(file.done_bytes == file.total_bytes for file in progress.files)


def test_only_the_wrong_file_comes_again(hub: FakeHub, tmp_path: Path) -> None:
    wrong = "model-00003-of-00012.safetensors"
    hub.faults.wrong = [wrong]
    _, meter = _pull(hub, tmp_path, 4)
    for name, content in SHARDS.items():
        sizes = [(request.start, request.sent) for request in hub.sent(name)]
        assert sizes == [(0, len(content))] * (2 if name == wrong else 1)
    assert wrong in meter.read().note


def test_files_with_the_same_bytes_come_once(hub: FakeHub, tmp_path: Path) -> None:
    same = random.Random(0).randbytes(300_000)
    hub.add(REPO, {f"copy-{number}.safetensors": same for number in range(6)})
    result, meter = _pull(hub, tmp_path, 6)
    assert all(file.path.read_bytes() == same for file in result.files)
    assert sum(request.sent for request in hub.sent(".safetensors")) == len(same)
    assert meter.read().done_bytes == 6 * len(same)


def test_one_file_that_cannot_come_stops_the_others_which_stay(
    hub: FakeHub, tmp_path: Path
) -> None:
    hub.faults.pause_s = 0.01
    bad = "model-00005-of-00012.safetensors"  # when one has come
    hub.faults.status[bad] = (404, {"X-Error-Code": "EntryNotFound"}, "gone")
    with pytest.raises(InvalidSourceError, match=f"has no {bad}"):
        _pull(hub, tmp_path, 4)
    del hub.faults.status[bad]
    hub.faults.pause_s = 0.0
    result, _ = _pull(hub, tmp_path, 4)
    assert result.resumed_bytes > 0


def test_a_cancel_ends_all_threads(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.pause_s = 0.01
    token = CancelToken()
    timer = threading.Timer(0.3, token.cancel)
    timer.start()
    with cancellable_by(token), pytest.raises(JobCancelledError):
        _pull(hub, tmp_path, 4)
    timer.join()


def test_results_keep_their_order_and_threads_their_number() -> None:
    busy: set[int] = set()
    most: list[int] = []

    def job(number: int) -> int:
        busy.add(number)
        most.append(len(busy))
        time.sleep(0.01)
        busy.discard(number)
        return number

    jobs = [lambda number=number: job(number) for number in range(20)]
    assert run_all(jobs, 3, "test") == list(range(20))
    assert max(most) <= 3


def test_the_error_of_the_first_is_raised_when_all_have_ended() -> None:
    ended: list[bool] = []

    def work() -> None:
        try:
            while True:
                check_cancelled()
                time.sleep(0.005)
        finally:
            ended.append(True)

    def fail() -> None:
        time.sleep(0.02)
        raise ValueError("a fault of ours")

    with pytest.raises(ValueError, match="a fault of ours"):
        run_all([work, work, fail], 3, "test")
    assert ended == [True, True]
