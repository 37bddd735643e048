"""The real converter in a real child process."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.core.events import (
    ConversionFinished,
    ConversionPlanned,
    ConversionProgressed,
    Event,
    JobCancelled,
    JobFailed,
    WorkerDied,
    WorkerStopped,
)
from app.workers.commands import CancelJob, Command, ConvertSource, PlanConversion
from app.workers.process import WorkerProcess

TIMEOUT_S = 240.0
LAST_EVENTS = (ConversionFinished, JobFailed, JobCancelled, WorkerDied, WorkerStopped)


class Converter:
    """A worker process whose events can be waited for."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.process = WorkerProcess("convert", self._events.put)
        self.process.start()

    def send(self, command: Command) -> None:
        self.process.send(command)

    def next(self, *kinds: type[Event]) -> Event:
        """The next event of these kinds; anything that ends a job ends the waiting, too."""
        while True:
            event = self._events.get(timeout=TIMEOUT_S)
            if isinstance(event, (*kinds, *LAST_EVENTS)):
                return event


@pytest.fixture
def converter() -> Iterator[Converter]:
    made = Converter()
    yield made
    made.process.stop()


def test_convert_tells_plan_progress_and_report(
    converter: Converter, starter_gguf: Path, tmp_path: Path
) -> None:
    output = tmp_path / "a folder 模型" / "starter"
    converter.send(ConvertSource(starter_gguf, output))
    planned = converter.next(ConversionPlanned)
    assert isinstance(planned, ConversionPlanned)
    assert planned.plan.output == output
    progress = []
    while isinstance(event := converter.next(ConversionProgressed), ConversionProgressed):
        progress.append(event)
    assert isinstance(event, ConversionFinished)
    assert event.report.output == output
    assert event.report.lossless
    assert progress[-1].done_bytes == progress[-1].total_bytes
    assert len(list(output.glob("layer_*.safetensors"))) == planned.plan.num_layers


def test_plan_alone_writes_nothing(
    converter: Converter, starter_gguf: Path, tmp_path: Path
) -> None:
    converter.send(PlanConversion(starter_gguf, tmp_path / "out"))
    planned = converter.next(ConversionPlanned)
    assert isinstance(planned, ConversionPlanned)
    assert planned.plan.architecture == "LlamaForCausalLM"
    assert list(tmp_path.iterdir()) == []


def test_cancel_leaves_nothing_and_the_next_job_runs(
    converter: Converter, starter_gguf: Path, tmp_path: Path
) -> None:
    converter.send(ConvertSource(starter_gguf, tmp_path / "out"))
    converter.next(ConversionProgressed)
    converter.send(CancelJob())
    while isinstance(event := converter.next(ConversionProgressed), ConversionProgressed):
        pass
    assert event == JobCancelled()
    assert list(tmp_path.iterdir()) == []
    converter.send(PlanConversion(starter_gguf, tmp_path / "out"))
    assert isinstance(converter.next(ConversionPlanned), ConversionPlanned)


@pytest.mark.parametrize("command", [ConvertSource, PlanConversion])
def test_bad_source_is_one_sentence(
    converter: Converter, tmp_path: Path, command: type[ConvertSource | PlanConversion]
) -> None:
    source = tmp_path / "bad.gguf"
    source.write_bytes(b"GGUF but not really")
    converter.send(command(source, tmp_path / "out"))
    failed = converter.next(ConversionPlanned)
    assert isinstance(failed, JobFailed)
    assert "bad.gguf" in failed.error.message
    assert failed.error.kind != "InternalError"
    assert list(tmp_path.iterdir()) == [source]


def test_stop_mid_conversion_leaves_nothing(
    converter: Converter, starter_gguf: Path, tmp_path: Path
) -> None:
    converter.send(ConvertSource(starter_gguf, tmp_path / "out"))
    converter.next(ConversionProgressed)
    converter.process.stop(timeout_s=TIMEOUT_S)
    assert list(tmp_path.iterdir()) == []


def test_kill_mid_conversion_leaves_no_checkpoint_and_a_new_run_succeeds(
    converter: Converter, starter_gguf: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    converter.send(ConvertSource(starter_gguf, output))
    converter.next(ConversionProgressed)
    psutil.Process(converter.process.pid).kill()
    while isinstance(event := converter.next(ConversionProgressed), ConversionProgressed):
        pass
    assert isinstance(event, WorkerDied)
    assert not output.exists()
    converter.process.start()
    converter.send(ConvertSource(starter_gguf, output))
    assert isinstance(converter.next(), ConversionFinished)
    assert list(tmp_path.iterdir()) == [output]
