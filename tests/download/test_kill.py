"""`deepinfer pull`, killed and interrupted: the next one goes on where the bytes end."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from app.download.partial import SUFFIX
from app.download.transfer import CHUNK_BYTES
from tests.hub.fake_hub import FakeFile, FakeHub
from tests.hub.pulling import partial_bytes, run, start
from tests.hub.small_config import small_config

REPO, NAME = "org/name", "model.safetensors"
CONTENT = random.Random(3).randbytes(8_000_003)
# What may be under way in the buffers of both ends.
_BUFFERED_BYTES = 1 << 18


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    """A folder of 8 MB, at about 8 MB/s."""
    with FakeHub().running() as hub:
        hub.add(REPO, {"config.json": small_config(), NAME: CONTENT})
        hub.faults.pause_s = 0.002
        yield hub


def _wait_for(home: Path, size: int, process: subprocess.Popen[str]) -> None:
    while process.poll() is None and partial_bytes(home) < size:
        time.sleep(0.002)


def _kill_often(hub: FakeHub, home: Path, num_kills: int) -> None:
    chance = random.Random()
    for number in range(num_kills):
        process = start(hub, home, "pull", REPO, "--json")
        step = (len(CONTENT) - partial_bytes(home)) // (num_kills - number)
        _wait_for(home, partial_bytes(home) + chance.randrange(1, step), process)
        process.kill()
        process.communicate()


def _check_no_byte_twice(hub: FakeHub, name: str) -> None:
    for before, after in pairwise(hub.sent(name)):
        assert before.start is not None
        assert after.start is not None
        again = before.start + before.sent - after.start
        assert 0 <= again <= CHUNK_BYTES + _BUFFERED_BYTES


def _finish(hub: FakeHub, home: Path) -> bytes:
    """Pulls what is missing; returns what then lies there."""
    done = run(hub, home, "pull", REPO, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    by_name = {file["path"]: file["sha256"] for file in document["files"]}
    assert by_name[NAME] == hashlib.sha256(CONTENT).hexdigest()
    _check_no_byte_twice(hub, NAME)
    assert not list(home.rglob(f"*{SUFFIX}"))
    return (Path(document["path"]) / NAME).read_bytes()


def test_killed_downloads_go_on(hub: FakeHub, tmp_path: Path) -> None:
    _kill_often(hub, tmp_path / "hf", 2)
    assert _finish(hub, tmp_path / "hf") == CONTENT


@pytest.mark.slow
def test_twenty_kills_of_files_side_by_side(hub: FakeHub, tmp_path: Path) -> None:
    """No byte range of any file twice beyond one chunk, and every digest right at the end."""
    files = {
        f"model-{number:05d}-of-00006.safetensors": random.Random(number).randbytes(1_500_000)
        for number in range(1, 7)
    }
    hub.add(REPO, files | {"config.json": small_config()})
    hub.faults.pause_s = 0.01
    home, chance = tmp_path / "hf", random.Random()
    for _ in range(20):
        process = start(hub, home, "pull", REPO, "--json")
        reached = partial_bytes(home)
        goal = reached + chance.randrange(1, 500_000)
        while process.poll() is None and reached <= partial_bytes(home) < goal:
            time.sleep(0.002)
        process.kill()
        process.communicate()
    hub.faults.pause_s = 0.0
    done = run(hub, home, "pull", REPO, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    by_name = {file["path"]: file["sha256"] for file in document["files"]}
    for name, content in files.items():
        assert by_name[name] == hashlib.sha256(content).hexdigest()
        assert (Path(document["path"]) / name).read_bytes() == content
        _check_no_byte_twice(hub, name)


@pytest.mark.slow
def test_twenty_kills(hub: FakeHub, tmp_path: Path) -> None:
    _kill_often(hub, tmp_path / "hf", 20)
    assert len(hub.sent(NAME)) >= 15, "the kills hit the download"
    assert _finish(hub, tmp_path / "hf") == CONTENT


@pytest.mark.skipif(sys.platform == "win32", reason="consoles have no signals to one process")
def test_an_interrupt_keeps_the_file_and_says_how_to_go_on(hub: FakeHub, tmp_path: Path) -> None:
    home = tmp_path / "hf"
    hub.faults.pause_s = 0.02  # ten seconds are left when the signal is sent
    process = start(hub, home, "pull", REPO)
    _wait_for(home, 1_000_000, process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate()
    assert process.returncode == 1
    last = stderr.splitlines()[-2:]
    assert last == [
        "What has arrived is kept; the same command goes on from there.",
        "deepinfer: cancelled.",
    ]
    assert partial_bytes(home) >= 1_000_000
    hub.faults.pause_s = 0.0
    done = run(hub, home, "pull", REPO, "--json")
    assert json.loads(done.stdout)["resumed_bytes"] >= 1_000_000


def test_a_cut_network_goes_on_by_itself(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.cuts = [len(CONTENT) * 2 // 5]
    hub.faults.pause_s = 0.0
    assert _finish(hub, tmp_path / "hf") == CONTENT
    assert len(hub.sent(NAME)) == 2


@pytest.mark.slow
def test_memory_stays_flat(hub: FakeHub, tmp_path: Path) -> None:
    size, zeros = 3 << 30, bytes(1 << 20)
    big, digest = tmp_path / NAME, hashlib.sha256()
    big.touch()
    os.truncate(big, size)
    for _ in range(size // len(zeros)):
        digest.update(zeros)
    hub.repos[REPO][NAME] = FakeFile(big, known_digest=digest.hexdigest())
    hub.faults.pause_s = 0.0
    home = tmp_path / "hf"
    process = start(hub, home, "pull", REPO, "--json")
    _wait_for(home, 1, process)
    early, late = psutil.Process(process.pid).memory_info().rss, []
    while process.poll() is None:
        if partial_bytes(home) > size // 2:
            late.append(psutil.Process(process.pid).memory_info().rss)
        time.sleep(0.05)
    process.communicate()
    assert process.returncode == 0
    assert max(late) - early < 64 << 20
    shutil.rmtree(home)  # pytest keeps the folders of several runs
