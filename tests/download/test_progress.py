"""Speed and time left, and honesty about silence."""

from __future__ import annotations

from app.cli.pull import _describe
from app.download.progress import STALLED_AFTER_S, FileState, Meter


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_speed_is_that_of_the_last_seconds() -> None:
    clock = _Clock()
    meter = Meter(2000, clock)
    meter.found(1000)
    for _ in range(5):
        clock.now += 1
        meter.received(100)
    clock.now += 1
    progress = meter.read()
    assert (progress.done_bytes, progress.bytes_per_s, progress.eta_s) == (1500, 100.0, 5.0)
    assert not progress.is_stalled


def test_silence_is_a_stall_without_speed_and_time_left() -> None:
    clock = _Clock()
    meter = Meter(2048, clock)
    meter.received(1024)
    clock.now += STALLED_AFTER_S
    progress = meter.read()
    assert (progress.is_stalled, progress.bytes_per_s, progress.eta_s) == (True, 0.0, None)
    assert _describe(progress) == (
        "1.0 KiB of 2.0 KiB, no byte for 5 s; after 10 s the connection is made anew"
    )


def test_who_reads_what_is_here_is_not_silent() -> None:
    clock = _Clock()
    meter = Meter(2048, clock)
    meter.expect("a.gguf", 2048)
    clock.now += 60
    meter.enter("a.gguf", FileState.CHECKING)
    progress = meter.read()
    assert progress.is_checking
    assert not progress.is_stalled
    assert _describe(progress) == "0 B of 2.0 KiB, reading what is here already"
    meter.enter("a.gguf", FileState.RUNNING)
    meter.received(1024, "a.gguf")
    (file,) = meter.read().files
    assert (file.done_bytes, file.total_bytes, file.state) == (1024, 2048, FileState.RUNNING)


def test_a_note_is_told_until_the_next() -> None:
    meter = Meter(1)
    meter.tell("one")
    meter.tell("two")
    assert meter.read().note == "two"


def test_what_is_complete_is_not_stalled() -> None:
    clock = _Clock()
    meter = Meter(1000, clock)
    meter.received(1000)
    clock.now += 60
    assert not meter.read().is_stalled
