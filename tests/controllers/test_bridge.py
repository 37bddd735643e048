"""Events cross threads whole, in order, and come out on the GUI thread."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from functools import partial

import pytest
from PySide6.QtCore import QThread
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.controllers.bridge import EventBridge
from app.controllers.threads import FunctionThread
from app.core.errors import UsageError
from app.core.events import Event, MemorySampled, WorkerStarted

NUM_EMITS = 5_000
TIMEOUT_MS = 120_000


def post_many(bridge: EventBridge, first: int) -> None:
    for number in range(NUM_EMITS):
        bridge.post(WorkerStarted(first + number))


def run_threads(*functions: Callable[[], None]) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_five_thousand_emits_arrive_in_order(qtbot: QtBot) -> None:
    """Also the proof that this PySide6 keeps its references: 6.12.0 on Python 3.11 aborts here."""
    bridge = EventBridge()
    numbers: list[int] = []
    bridge.received.connect(lambda event: numbers.append(event.pid))
    run_threads(partial(post_many, bridge, 0))
    qtbot.waitUntil(lambda: len(numbers) == NUM_EMITS, timeout=TIMEOUT_MS)
    assert numbers == list(range(NUM_EMITS))


def test_events_of_several_threads_keep_each_thread_s_order(qtbot: QtBot) -> None:
    bridge = EventBridge()
    numbers: list[int] = []
    bridge.received.connect(lambda event: numbers.append(event.pid))
    starts = [thread * NUM_EMITS for thread in range(4)]
    run_threads(*(partial(post_many, bridge, start) for start in starts))
    qtbot.waitUntil(lambda: len(numbers) == 4 * NUM_EMITS, timeout=TIMEOUT_MS)
    for start in starts:
        own = [number for number in numbers if start <= number < start + NUM_EMITS]
        assert own == list(range(start, start + NUM_EMITS))


def test_every_kind_of_slot_runs_on_the_gui_thread(qtbot: QtBot) -> None:
    bridge = EventBridge()
    threads: list[object] = []

    def note(_: Event) -> None:
        threads.append(QThread.currentThread())

    bridge.received.connect(note)
    bridge.received.connect(lambda event: note(event))
    bridge.received.connect(partial(note))
    run_threads(lambda: bridge.post(WorkerStarted(1)))
    assert threads == []  # queued: nothing runs inside `post`
    qtbot.waitUntil(lambda: len(threads) == 3, timeout=TIMEOUT_MS)
    assert threads == [QThread.currentThread()] * 3


def test_byte_counts_beyond_32_bits_survive(qtbot: QtBot) -> None:
    bridge = EventBridge()
    sample = MemorySampled(5_000_000_000, 1, 2, 3, 6_000_000_000, 2**63)
    with qtbot.waitSignal(bridge.received, timeout=TIMEOUT_MS) as blocker:
        bridge.post(sample)
    assert blocker.args == [sample]


def test_twenty_thousand_void_calls(qtbot: QtBot) -> None:
    """PySide6 6.12.0 on Python 3.11 loses a reference to None at each of them, and aborts."""
    label = QLabel()
    qtbot.addWidget(label)
    for number in range(20_000):
        label.setText(str(number))
    assert label.text() == "19999"


def test_function_thread_returns(qtbot: QtBot) -> None:
    thread = FunctionThread(lambda: (1, "two"))
    with qtbot.waitSignal(thread.returned, timeout=TIMEOUT_MS) as blocker:
        thread.start()
    thread.join()
    assert blocker.args == [(1, "two")]


@pytest.mark.parametrize(
    ("error", "message", "is_fault"),
    [
        (UsageError("No such thing."), "No such thing.", False),
        (OSError("disk on fire"), "disk on fire.", False),
        (
            OSError(errno.ENOSPC, "voll", "/some/place/chat.md"),
            "chat.md: No space left on device.",
            False,
        ),
        (ZeroDivisionError("by zero"), "Internal error: by zero", True),
        (MemoryError(), "Internal error: MemoryError", True),
    ],
)
def test_function_thread_tells_what_was_raised(
    qtbot: QtBot, error: Exception, message: str, is_fault: bool
) -> None:
    """What nobody expected, too: whoever waits for the end hears of it, and the crash watch."""

    def fail() -> None:
        raise error

    thread = FunctionThread(fail)
    with (
        qtbot.captureExceptions() as faults,
        qtbot.waitSignal(thread.errored, timeout=TIMEOUT_MS) as blocker,
    ):
        thread.start()
        thread.join()
    assert [info.message for info in blocker.args] == [message]
    assert [fault[1] for fault in faults] == ([error] if is_fault else [])
