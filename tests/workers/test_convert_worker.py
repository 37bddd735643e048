"""The real converter in a real child process."""

from __future__ import annotations

import queue
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.core.conversion_events import (
    ConversionFinished,
    ConversionPlan,
    ConversionPlanned,
    ConversionProgressed,
    EvaluationFinished,
    EvaluationProgressed,
)
from app.core.events import Event, JobCancelled, JobFailed, WorkerDied, WorkerStopped
from app.core.sentence import Sentence
from app.workers.commands import (
    CancelJob,
    Command,
    ConvertSource,
    DiscardParts,
    EvaluateCheckpoint,
    PlanConversion,
)
from app.workers.process import WorkerProcess

TIMEOUT_S = 240.0
LAST_EVENTS = (
    ConversionFinished,
    EvaluationFinished,
    JobFailed,
    JobCancelled,
    WorkerDied,
    WorkerStopped,
)


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
    message = failed.error.message
    assert isinstance(message, Sentence)  # through the pipe, so that the window can translate it
    assert "bad.gguf" in message
    assert message.values["file"] == "bad.gguf"
    assert failed.error.kind != "InternalError"
    assert list(tmp_path.iterdir()) == [source]


def test_stop_mid_conversion_leaves_what_can_be_resumed(
    converter: Converter, starter_gguf: Path, tmp_path: Path
) -> None:
    converter.send(ConvertSource(starter_gguf, tmp_path / "out", grid="w8"))
    wait_for_parts(converter, 3)
    converter.process.stop(timeout_s=TIMEOUT_S)
    while not isinstance(converter.next(), WorkerStopped):
        pass
    assert names_in(tmp_path) == ["out.partial"]
    converter.process.start()
    assert_it_resumes(converter, starter_gguf, tmp_path / "out")


def test_a_killed_conversion_is_resumed(
    converter: Converter, starter_gguf: Path, tmp_path: Path
) -> None:
    converter.send(ConvertSource(starter_gguf, tmp_path / "out", grid="w8", allow_lossy=True))
    wait_for_parts(converter, 3)
    psutil.Process(converter.process.pid).kill()
    while not isinstance(converter.next(), WorkerDied):
        pass
    converter.process.start()
    assert_it_resumes(converter, starter_gguf, tmp_path / "out", allow_lossy=True)


def test_a_cancel_can_keep_the_parts_and_they_can_be_thrown_away(
    converter: Converter, starter_gguf: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    converter.send(ConvertSource(starter_gguf, output, grid="w8"))
    wait_for_parts(converter, 2)
    converter.send(CancelJob(keeps_parts=True))
    assert converter.next() == JobCancelled()
    assert plan(converter, starter_gguf, output).num_kept_parts >= 2
    assert names_in(tmp_path) == ["out.partial"]
    converter.send(DiscardParts(output))
    assert plan(converter, starter_gguf, output).num_kept_parts == 0
    assert names_in(tmp_path) == []


def wait_for_parts(converter: Converter, num_parts: int) -> None:
    event = converter.next(ConversionProgressed)
    while isinstance(event, ConversionProgressed) and event.num_steps_done < num_parts:
        event = converter.next(ConversionProgressed)
    assert isinstance(event, ConversionProgressed), event


def plan(converter: Converter, source: Path, output: Path) -> ConversionPlan:
    converter.send(PlanConversion(source, output, resume=True))
    planned = converter.next(ConversionPlanned)
    assert isinstance(planned, ConversionPlanned)
    return planned.plan


def assert_it_resumes(
    converter: Converter, source: Path, output: Path, *, allow_lossy: bool = False
) -> None:
    kept = plan(converter, source, output)
    assert (kept.grid, kept.group_size, kept.allow_lossy) == ("w8", 128, allow_lossy)
    assert 3 <= kept.num_kept_parts < kept.num_parts
    converter.send(
        ConvertSource(source, output, grid=kept.grid, resume=True, allow_lossy=allow_lossy)
    )
    first = converter.next(ConversionProgressed)
    while isinstance(first, ConversionProgressed) and not first.num_steps_done:
        first = converter.next(ConversionProgressed)
    assert isinstance(first, ConversionProgressed)
    assert isinstance(converter.next(), ConversionFinished)
    assert names_in(output.parent) == ["out"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_evaluation_afterwards_is_told_and_kept_in_the_checkpoint(
    converter: Converter, starter_gguf: Path, starter_checkpoint: Path, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "out"
    shutil.copytree(starter_checkpoint, checkpoint)
    converter.send(EvaluateCheckpoint(starter_gguf, checkpoint))
    told = converter.next(EvaluationProgressed)
    assert isinstance(told, EvaluationProgressed)
    assert told.grid == "this"
    while isinstance(event := converter.next(EvaluationProgressed), EvaluationProgressed):
        pass
    assert isinstance(event, EvaluationFinished)
    (row,) = event.evaluations
    assert row.proven
    assert row.perplexity == row.source_perplexity
    assert (checkpoint / "evaluation.md").is_file()
    assert names_in(tmp_path) == ["out"]


def test_a_checkpoint_of_another_source_is_not_evaluated(
    converter: Converter, starter_gguf: Path, starter_checkpoint: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(starter_checkpoint, other)
    manifest = other / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"format": "gguf"', '"format": "gptq"'), encoding="utf-8")
    converter.send(EvaluateCheckpoint(starter_gguf, other))
    failed = converter.next(EvaluationProgressed)
    assert isinstance(failed, JobFailed)
    assert "was not made of" in failed.error.message


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
