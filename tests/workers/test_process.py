"""One child process, supervised: real processes and real pipes, a fake service."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
from fake_service import Crash, Exit, Flood, Flooded, RefuseToClose, Said, Say

from app.core.crash_reports import list_reports
from app.core.errors import WorkerError
from app.core.events import (
    Event,
    WorkerDied,
    WorkerRecovered,
    WorkerStarted,
    WorkerStopped,
    WorkerUnresponsive,
)
from app.workers.process import WorkerProcess

FAKE = "fake_service:create_service"
TIMEOUT_S = 120.0  # a hang, not a slow machine

E = TypeVar("E", bound=Event)


class Inbox:
    """Events in the order in which they came."""

    def __init__(self) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def wait_for(self, kind: type[E]) -> E:
        while True:
            event = self.events.get(timeout=TIMEOUT_S)
            if isinstance(event, kind):
                return event

    def rest(self) -> list[Event]:
        events = []
        while not self.events.empty():
            events.append(self.events.get())
        return events


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def worker(inbox: Inbox) -> Iterator[WorkerProcess]:
    process = WorkerProcess(FAKE, inbox.events.put)
    yield process
    process.kill()
    process.stop()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_commands_reach_the_child_and_events_come_back(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.start()
    worker.send(Say("before it is up"))
    started = inbox.wait_for(WorkerStarted)
    assert started.pid == worker.pid != os.getpid()
    assert inbox.wait_for(Said) == Said("before it is up", started.pid)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_native_crash_is_kept_in_a_report(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.start()
    worker.send(Say("before it dies"))
    os.kill(inbox.wait_for(Said).pid, signal.SIGSEGV)
    died = inbox.wait_for(WorkerDied)
    assert died.exit_code == -signal.SIGSEGV
    assert died.report is not None
    text = died.report.read_text(encoding="utf-8")
    assert "The fake_service process ended by itself with exit code -11, SIGSEGV." in text
    assert "Fatal Python error: Segmentation fault" in text
    assert "in _serve" in text
    assert list_reports() == (died.report,)


def test_a_report_has_the_own_trace_alone_and_a_wanted_end_none(
    worker: WorkerProcess, inbox: Inbox
) -> None:
    worker.start()
    worker.send(Crash())
    first = inbox.wait_for(WorkerDied).report
    worker.start()
    worker.send(Exit(7))
    second = inbox.wait_for(WorkerDied).report
    worker.start()
    inbox.wait_for(WorkerStarted)
    worker.kill()
    assert inbox.wait_for(WorkerDied).report is None
    assert first is not None
    assert second is not None
    assert "ZeroDivisionError" in first.read_text(encoding="utf-8")
    assert "ZeroDivisionError" not in second.read_text(encoding="utf-8")


def test_stop_ends_the_child_and_is_no_death(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.start()
    pid = inbox.wait_for(WorkerStarted).pid
    worker.stop()
    assert inbox.rest() == [WorkerStopped()]
    assert not worker.is_alive
    assert worker.pid is None
    assert is_gone(pid)


def test_stop_without_start_does_nothing(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.stop()
    assert inbox.rest() == []


def test_send_to_nobody_is_refused(worker: WorkerProcess) -> None:
    with pytest.raises(WorkerError, match="not running"):
        worker.send(Say("anybody?"))


def test_start_twice_keeps_one_child(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.start()
    worker.start()
    inbox.wait_for(WorkerStarted)
    worker.stop()
    assert inbox.rest() == [WorkerStopped()]


def test_kill_9_mid_stream_is_told_at_once_after_all_that_was_sent(
    worker: WorkerProcess, inbox: Inbox
) -> None:
    worker.start()
    worker.send(Flood())
    inbox.wait_for(Flooded)
    psutil.Process(worker.pid).kill()
    wait_until(lambda: not worker.is_alive)
    worker.stop()
    *flooded, last = inbox.rest()
    assert isinstance(last, WorkerDied)
    numbers = [event.number for event in flooded if isinstance(event, Flooded)]
    assert numbers == list(range(1, len(flooded) + 1))


def test_kill_is_a_death(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.start()
    inbox.wait_for(WorkerStarted)
    worker.kill()
    assert inbox.wait_for(WorkerDied).report is None, "that was wanted"


def test_kill_right_after_start(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.start()
    worker.kill()
    assert inbox.wait_for(WorkerDied).report is None


def test_exit_code_is_told(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.start()
    worker.send(Exit(7))
    assert inbox.wait_for(WorkerDied) == WorkerDied(7)


def test_unexpected_error_ends_the_child_and_is_written_down(
    worker: WorkerProcess, inbox: Inbox, deepinfer_home: Path
) -> None:
    worker.start()
    worker.send(Crash())
    assert inbox.wait_for(WorkerDied) == WorkerDied(1)
    stderr = (deepinfer_home / "logs" / "fake_service-worker-stderr.log").read_text("utf-8")
    assert "the service did not expect this" in stderr


def test_service_that_cannot_be_created_is_a_death(inbox: Inbox) -> None:
    worker = WorkerProcess("fake_service:create_nothing", inbox.events.put)
    worker.start()
    assert inbox.wait_for(WorkerDied) == WorkerDied(1)
    worker.stop()


def test_restart_gives_a_fresh_child(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.start()
    first = inbox.wait_for(WorkerStarted).pid
    worker.restart()
    second = inbox.wait_for(WorkerStarted).pid
    assert second != first
    assert is_gone(first)
    worker.send(Say("again"))
    assert inbox.wait_for(Said) == Said("again", second)


def test_restart_after_a_death(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.start()
    worker.send(Exit(3))
    inbox.wait_for(WorkerDied)
    worker.start()
    worker.send(Say("back"))
    assert inbox.wait_for(Said).text == "back"


def test_child_that_does_not_close_is_killed(worker: WorkerProcess, inbox: Inbox) -> None:
    worker.start()
    pid = inbox.wait_for(WorkerStarted).pid
    worker.send(RefuseToClose())
    worker.stop(timeout_s=0.3)
    assert inbox.rest() == [WorkerStopped()]
    assert is_gone(pid)


def test_silence_is_told_and_so_is_its_end(inbox: Inbox) -> None:
    worker = WorkerProcess(FAKE, inbox.events.put, unresponsive_after_s=2.0)
    worker.start()
    inbox.wait_for(WorkerStarted)
    child = psutil.Process(worker.pid)
    child.suspend()
    assert inbox.wait_for(WorkerUnresponsive).silent_s > 2.0
    child.resume()
    inbox.wait_for(WorkerRecovered)
    worker.stop()
    assert inbox.wait_for(WorkerStopped)


def test_send_does_not_block_on_a_child_that_does_not_read(
    worker: WorkerProcess, inbox: Inbox
) -> None:
    worker.start()
    pid = inbox.wait_for(WorkerStarted).pid
    psutil.Process(pid).suspend()
    for _ in range(50):
        worker.send(Say("x" * 1_000_000))  # far beyond what a pipe holds
    assert worker.is_alive
    worker.kill()
    inbox.wait_for(WorkerDied)


PARENT = """
    import sys, time
    sys.path.insert(0, {here!r})
    from fake_service import Flood, RefuseToClose, Said, Say
    from app.workers.process import WorkerProcess

    def on_event(event):
        if isinstance(event, Said):
            print(event.pid, flush=True)

    if __name__ == "__main__":
        worker = WorkerProcess("fake_service:create_service", on_event)
        worker.start()
        worker.send({command})
        worker.send(Say("the command was handled"))
        time.sleep({lifetime_s})
"""


def run_parent(tmp_path: Path, command: str, lifetime_s: int) -> subprocess.Popen[str]:
    """A program of its own that starts a worker and prints the child's process id, once the command
    was handled.
    """
    script = tmp_path / "parent.py"
    here = str(Path(__file__).parent)
    text = PARENT.format(here=here, command=command, lifetime_s=lifetime_s)
    script.write_text(textwrap.dedent(text), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.parametrize("command", ["Say('idle')", "Flood()"])
def test_child_ends_by_itself_when_the_parent_is_killed(tmp_path: Path, command: str) -> None:
    with run_parent(tmp_path, command, 600) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        parent.kill()
    wait_until(lambda: is_gone(pid))


def test_orphan_that_does_not_close_ends_all_the_same(tmp_path: Path) -> None:
    with run_parent(tmp_path, "RefuseToClose()", 600) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        parent.kill()
    wait_until(lambda: is_gone(pid))


def test_parent_that_forgets_to_stop_still_ends(tmp_path: Path) -> None:
    with run_parent(tmp_path, "Flood()", 3) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert parent.wait(TIMEOUT_S) == 0
    wait_until(lambda: is_gone(pid))
