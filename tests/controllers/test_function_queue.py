"""Functions on threads, one after another: none is lost, whatever one of them does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.attachment_reader import AttachmentReader
from app.controllers.file_saver import FileSaver
from app.controllers.function_queue import FunctionQueue
from app.core.errors import UsageError

TIMEOUT_MS = 60_000


@pytest.fixture
def queue(qtbot: QtBot) -> Iterator[FunctionQueue]:
    made = FunctionQueue()
    yield made
    made.clear()
    made.shutdown()


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("error", [UsageError("no"), OSError("no"), RecursionError("no")])
def test_what_fails_does_not_stop_the_next_ones(
    qtbot: QtBot, queue: FunctionQueue, error: Exception
) -> None:
    told: list[object] = []
    queue.returned.connect(told.append)
    queue.errored.connect(lambda info: told.append(info.kind))
    with qtbot.captureExceptions() as faults:
        for function in (lambda: "first", lambda: fail(error), lambda: "last"):
            queue.add(function)
        assert queue.num_open == 3
        qtbot.waitUntil(lambda: len(told) == 3, timeout=TIMEOUT_MS)
    assert (told[0], told[2]) == ("first", "last")
    assert queue.num_open == 0
    is_fault = isinstance(error, RecursionError)
    assert [kind for kind, _, _ in faults] == [RecursionError] * is_fault, "the crash watch hears"


def test_whoever_hears_of_an_end_may_add_another(qtbot: QtBot, queue: FunctionQueue) -> None:
    told: list[object] = []

    def go_on(number: object) -> None:
        told.append(number)
        if number == 1:
            queue.add(lambda: 2)

    queue.returned.connect(go_on)
    queue.add(lambda: 1)
    qtbot.waitUntil(lambda: len(told) == 2, timeout=TIMEOUT_MS)
    assert told == [1, 2]


def test_every_save_is_done_before_the_program_ends(qtbot: QtBot, tmp_path: Path) -> None:
    """Also those behind one that waits for a slow disk."""
    saver, gate = FileSaver(), threading.Event()

    def write(number: int) -> Path:
        assert gate.wait(TIMEOUT_MS / 1000)
        path = tmp_path / f"{number}.txt"
        path.write_text("saved")
        return path

    for number in range(3):
        saver.write(lambda number=number: write(number))
    gate.set()
    saver.shutdown()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.txt", "1.txt", "2.txt"]


def test_a_library_that_breaks_does_not_hold_up_other_files(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers of others' formats raise what they like."""
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7")
    (tmp_path / "good.txt").write_text("text")
    monkeypatch.setattr("pypdf.PdfReader", lambda path: fail(IndexError("deep inside")))
    reader = AttachmentReader()
    read: list[str] = []
    reader.read.connect(lambda attachment: read.append(attachment.name))
    with qtbot.captureExceptions(), qtbot.waitSignal(reader.failed, timeout=TIMEOUT_MS):
        reader.add([tmp_path / "broken.pdf", tmp_path / "good.txt"])
        assert [path.name for path in reader.unread] == ["broken.pdf", "good.txt"]
    qtbot.waitUntil(lambda: read == ["good.txt"], timeout=TIMEOUT_MS)
    assert reader.unread == ()
    reader.shutdown()
