"""A second start hands its file to the first one, whatever became of earlier ones."""

from __future__ import annotations

import json
import os
import queue
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Client
from pathlib import Path

import pytest

from app.core import single_instance
from app.core.single_instance import InstanceDoor


@pytest.fixture
def knocks() -> queue.SimpleQueue[Path | None]:
    return queue.SimpleQueue()


@pytest.fixture
def first(tmp_path: Path, knocks: queue.SimpleQueue[Path | None]) -> Iterator[InstanceDoor]:
    door = InstanceDoor(tmp_path / "家 home")
    assert door.enter()
    door.open(knocks.put)
    yield door
    door.close()


@pytest.fixture
def second(tmp_path: Path) -> InstanceDoor:
    return InstanceDoor(tmp_path / "家 home")


def test_a_file_is_handed_over(
    first: InstanceDoor, second: InstanceDoor, knocks: queue.SimpleQueue[Path | None]
) -> None:
    for path in (Path("/models/模型 one.gguf"), None):
        assert not second.enter()
        assert second.knock(path)
        assert knocks.get(timeout=10) == path


def test_another_process_is_heard(
    first: InstanceDoor, tmp_path: Path, knocks: queue.SimpleQueue[Path | None]
) -> None:
    code = (
        "import sys; from pathlib import Path; from app.core.single_instance import InstanceDoor\n"
        "door = InstanceDoor(Path(sys.argv[1]))\n"
        "sys.exit(door.enter() or not door.knock(Path('/a.gguf')) or 'PySide6' in sys.modules)"
    )
    home = str(tmp_path / "家 home")
    subprocess.run([sys.executable, "-c", code, home], check=True, timeout=60)
    assert knocks.get(timeout=10) == Path("/a.gguf")


def test_the_place_is_free_after_the_end(
    first: InstanceDoor, second: InstanceDoor, knocks: queue.SimpleQueue[Path | None]
) -> None:
    first.close()
    assert second.enter()
    second.close()


def test_the_door_is_closed_also_where_its_file_is_gone(tmp_path: Path) -> None:
    door = InstanceDoor(tmp_path)
    assert door.enter()
    door.open(lambda path: None)
    (tmp_path / "instance.json").unlink()
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "door")
    door.close()
    assert not thread.is_alive()


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from app.core.single_instance import InstanceDoor\n"
        "door = InstanceDoor(Path(sys.argv[1])); assert door.enter(); door.open(print)\n"
        "print('open', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "open\n"
        late = InstanceDoor(tmp_path)
        assert not late.enter()
        process.kill()
    assert late.enter(), "the window must open, whatever lies there"
    late.open(lambda path: None)
    late.close()


def test_who_does_not_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_instance, "_KNOCK_S", 0.3)
    silent = InstanceDoor(tmp_path)
    assert silent.enter()  # but opens no door
    assert not InstanceDoor(tmp_path).knock(None)
    (tmp_path / "instance.json").write_text('{"address": "/nowhere", "key": "00", "pid": 1}')
    assert not InstanceDoor(tmp_path).knock(None)
    (tmp_path / "instance.json").write_text("damaged")
    assert not InstanceDoor(tmp_path).knock(None)
    silent.close()


def test_without_the_key_nobody_is_heard(
    first: InstanceDoor, second: InstanceDoor, tmp_path: Path, knocks: queue.SimpleQueue[Path]
) -> None:
    path = tmp_path / "家 home" / "instance.json"
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    address = json.loads(path.read_text(encoding="utf-8"))["address"]
    with pytest.raises(single_instance.AuthenticationError):
        Client(address, authkey=b"wrong")
    assert knocks.empty()
    assert second.knock(None)  # it still listens
