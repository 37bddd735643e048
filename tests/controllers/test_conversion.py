"""The conversion queue: over a real child process, with a fake converter and with the real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.controllers.conversion import ConversionController
from app.controllers.conversion_job import (
    ConversionJob,
    ConversionOptions,
    ConversionState,
    create_output_name,
)
from app.core.paths import library_dir

FAKE = "fake_converter:create_service"
TIMEOUT_MS = 240_000


class Journal:
    """Everything the controller said, one word each."""

    def __init__(self, controller: ConversionController) -> None:
        self.lines: list[str] = []
        controller.job_started.connect(self._note(lambda job: f"started {job.source.stem}"))
        controller.planned.connect(self._note(lambda plan: f"planned {plan.grid}"))
        controller.progressed.connect(self._note(lambda event: f"progress {event.done_bytes}"))
        controller.finished.connect(self._note(lambda report: f"finished {report.output.name}"))
        controller.failed.connect(self._note(lambda error: f"failed {error.kind}"))
        controller.cancelled.connect(
            lambda kept: self.lines.append("paused" if kept else "cancelled")
        )
        controller.plan_refused.connect(self._note(lambda error: f"refused {error.kind}"))
        controller.measured.connect(self._note(lambda event: f"measured {event.num_done}"))
        controller.evaluation_progressed.connect(
            self._note(lambda event: f"evaluating {event.grid}")
        )
        controller.evaluated.connect(
            self._note(lambda rows: "evaluated " + ",".join(row.grid for row in rows))
        )
        controller.evaluation_failed.connect(
            self._note(lambda error: f"evaluation failed {error.kind}")
        )
        controller.evaluation_cancelled.connect(lambda: self.lines.append("evaluation cancelled"))

    def _note(self, describe: Callable[..., str]) -> Callable[[object], None]:
        return lambda value: self.lines.append(describe(value))


@pytest.fixture
def controller(qtbot: QtBot) -> Iterator[ConversionController]:
    made = ConversionController(library_dir(), service=FAKE)
    yield made
    made.shutdown()


@pytest.fixture
def journal(controller: ConversionController) -> Journal:
    return Journal(controller)


def wait_for_state(qtbot: QtBot, controller: ConversionController, state: ConversionState) -> None:
    qtbot.waitUntil(lambda: controller.state is state, timeout=TIMEOUT_MS)


def wait_for_idle(qtbot: QtBot, controller: ConversionController) -> None:
    wait_for_state(qtbot, controller, ConversionState.IDLE)
    assert controller.current_job is None
    assert controller.queue == ()


def test_a_dropped_source_is_planned_and_converted(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    states: list[ConversionState] = []
    controller.state_changed.connect(states.append)
    controller.enqueue([Path("one.gguf")])
    wait_for_idle(qtbot, controller)
    assert journal.lines == [
        "started one",
        "planned auto",
        "progress 5000000000",
        "finished one",
    ]
    assert states == [ConversionState.PLANNING, ConversionState.CONVERTING, ConversionState.IDLE]


def test_sources_wait_for_each_other_and_a_bad_one_does_not_stop_them(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    queues: list[tuple[str, ...]] = []
    controller.queue_changed.connect(
        lambda jobs: queues.append(tuple(job.source.stem for job in jobs))
    )
    controller.enqueue([Path("one.gguf"), Path("bad.gguf"), Path("die.gguf"), Path("two.gguf")])
    wait_for_idle(qtbot, controller)
    assert [line for line in journal.lines if line.split()[0] not in ("planned", "progress")] == [
        "started one",
        "finished one",
        "started bad",
        "failed InvalidSourceError",
        "started die",
        "failed WorkerError",
        "started two",
        "finished two",
    ]
    assert queues == [
        ("one", "bad", "die", "two"),
        ("bad", "die", "two"),
        ("die", "two"),
        ("two",),
        (),
    ]


def test_the_job_is_current_while_its_end_is_told(
    qtbot: QtBot, controller: ConversionController
) -> None:
    current: list[str] = []

    def note(*_: object) -> None:
        assert controller.current_job
        current.append(controller.current_job.source.stem)

    controller.finished.connect(note)
    controller.failed.connect(note)
    controller.cancelled.connect(note)
    controller.enqueue([Path("one.gguf"), Path("bad.gguf"), Path("slow.gguf")])
    qtbot.waitUntil(lambda: len(current) == 2, timeout=TIMEOUT_MS)
    wait_for_state(qtbot, controller, ConversionState.CONVERTING)
    controller.cancel()
    wait_for_idle(qtbot, controller)
    assert current == ["one", "bad", "slow"]


def test_cancel_ends_the_current_job_only(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("slow.gguf"), Path("next.gguf")])
    wait_for_state(qtbot, controller, ConversionState.CONVERTING)
    controller.cancel()
    assert controller.state is ConversionState.CANCELLING
    controller.cancel()
    wait_for_idle(qtbot, controller)
    assert journal.lines.count("cancelled") == 1
    assert journal.lines[-1] == "finished next"


def test_clear_queue_forgets_what_waits(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("slow.gguf"), Path("next.gguf")])
    controller.clear_queue()
    wait_for_state(qtbot, controller, ConversionState.CONVERTING)
    controller.cancel()
    wait_for_idle(qtbot, controller)
    assert "started next" not in journal.lines


def test_a_plan_waits_for_start(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("one.gguf")], start=False)
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    controller.replan(ConversionOptions("w4", 64))
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    assert controller.current_job
    assert controller.current_job.options == ConversionOptions("w4", 64)
    controller.start()
    wait_for_idle(qtbot, controller)
    assert journal.lines == [
        "started one",
        "planned auto",
        "planned w4",
        "planned w4",
        "progress 5000000000",
        "finished one",
    ]


def test_options_that_cannot_be_planned_can_be_changed(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("one.gguf")], start=False)
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    controller.replan(ConversionOptions("w3w4", vram_budget=1))
    wait_for_state(qtbot, controller, ConversionState.REFUSED)
    controller.start()
    assert controller.state is ConversionState.REFUSED, "nothing can be started"
    controller.replan(ConversionOptions("w3"))
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    assert journal.lines[1:] == ["planned auto", "refused ResourceError", "planned w3"]


def test_a_plan_that_is_being_measured_is_given_up_for_another(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("one.gguf")], start=False)
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    controller.replan(ConversionOptions("w3w4", vram_budget=2))
    qtbot.waitUntil(lambda: "measured 1" in journal.lines, timeout=TIMEOUT_MS)
    controller.replan(ConversionOptions("w3w4", vram_budget=2))
    controller.replan(ConversionOptions("w8"))
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    controller.start()
    wait_for_idle(qtbot, controller)
    assert [line for line in journal.lines if not line.startswith("measured")] == [
        "started one",
        "planned auto",
        "planned w8",
        "planned w8",
        "progress 5000000000",
        "finished one",
    ]


def test_waiting_sources_can_be_converted_the_same_way(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("one.gguf"), Path("two.gguf")], start=False)
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    controller.start_all(ConversionOptions("w4"))
    wait_for_idle(qtbot, controller)
    assert [line for line in journal.lines if line.startswith(("planned", "finished"))] == [
        "planned auto",
        "planned w4",
        "finished one",
        "planned w4",
        "finished two",
    ]


def test_an_interrupted_conversion_is_resumed_as_it_was_begun(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("kept.gguf")], start=False)
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    assert controller.current_job
    assert controller.current_job.options.grid == "w3"
    controller.start(resume=True)
    assert controller.current_job.resumes
    wait_for_idle(qtbot, controller)
    assert journal.lines[-1] == "finished kept"


def test_an_interrupted_conversion_can_begin_anew(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("kept.gguf")], start=False)
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    controller.replan(ConversionOptions())
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    controller.start()
    assert controller.current_job
    assert not controller.current_job.resumes
    wait_for_idle(qtbot, controller)
    assert journal.lines[1:3] == ["planned w3", "planned auto"]


def test_a_paused_conversion_goes_on_or_is_thrown_away(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("slow.gguf")])
    wait_for_state(qtbot, controller, ConversionState.CONVERTING)
    job = controller.current_job
    assert job
    assert controller.is_converting
    controller.cancel(keep_parts=True)
    wait_for_idle(qtbot, controller)
    assert journal.lines[-1] == "paused"
    controller.resume(job)
    wait_for_state(qtbot, controller, ConversionState.CONVERTING)
    assert controller.current_job
    assert controller.current_job.resumes
    controller.cancel()
    wait_for_idle(qtbot, controller)
    assert journal.lines[-1] == "cancelled"
    controller.discard_parts(job.output)
    qtbot.waitUntil(lambda: (library_dir() / "discarded").is_dir(), timeout=TIMEOUT_MS)


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("one", "evaluated this,w3"),
        ("bad", "evaluation failed InvalidSourceError"),
        ("slow", "evaluation cancelled"),
    ],
)
def test_a_finished_job_is_evaluated(
    name: str, ending: str, qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    job = ConversionJob(1, Path(f"{name}.gguf"), library_dir() / name)
    controller.evaluate(job, ("w3",))
    assert controller.state is ConversionState.EVALUATING
    qtbot.waitUntil(lambda: "evaluating this" in journal.lines, timeout=TIMEOUT_MS)
    if name == "slow":
        controller.cancel()
        assert not controller.is_converting
    wait_for_idle(qtbot, controller)
    assert journal.lines == ["evaluating this", ending]


def test_a_plan_can_be_cancelled(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("one.gguf"), Path("two.gguf")], start=False)
    controller.cancel()  # while it is being planned
    wait_for_state(qtbot, controller, ConversionState.PLANNED)
    controller.cancel()
    wait_for_idle(qtbot, controller)
    assert [line for line in journal.lines if not line.startswith("planned")] == [
        "started one",
        "cancelled",
        "started two",
        "cancelled",
    ]


def test_what_the_library_has_is_not_converted_unasked(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    (library_dir() / "one").mkdir(parents=True)
    controller.enqueue([Path("one.gguf")])
    assert journal.lines == ["started one", "failed OutputExistsError"]
    assert controller.state is ConversionState.IDLE
    controller.enqueue([Path("one.gguf")], overwrite=True)
    wait_for_idle(qtbot, controller)
    assert journal.lines[-1] == "finished one"


def test_the_process_ends_with_the_queue_and_comes_back(
    qtbot: QtBot, controller: ConversionController, journal: Journal
) -> None:
    controller.enqueue([Path("one.gguf")])
    wait_for_idle(qtbot, controller)
    controller.enqueue([Path("two.gguf")])  # while the process is still ending
    wait_for_idle(qtbot, controller)
    qtbot.waitUntil(lambda: not controller.is_worker_running, timeout=TIMEOUT_MS)
    controller.enqueue([Path("three.gguf")])
    wait_for_idle(qtbot, controller)
    assert [line for line in journal.lines if line.startswith("finished")] == [
        "finished one",
        "finished two",
        "finished three",
    ]


def test_shutdown_ends_the_process(qtbot: QtBot) -> None:
    controller = ConversionController(library_dir(), service=FAKE)
    before = {child.pid for child in psutil.Process().children()}
    controller.enqueue([Path("slow.gguf")])
    wait_for_state(qtbot, controller, ConversionState.CONVERTING)
    controller.shutdown()
    children = {child.pid for child in psutil.Process().children() if is_worker(child)}
    assert children <= before


def is_worker(process: psutil.Process) -> bool:
    """Not multiprocessing's own resource tracker, which stays with the program."""
    return process.status() != psutil.STATUS_ZOMBIE and any(
        "spawn_main" in argument for argument in process.cmdline()
    )


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct.Q4_1"),
        ("模型.GGUF", "模型"),
        ("Qwen2.5-0.5B", "Qwen2.5-0.5B"),
    ],
)
def test_output_is_named_after_the_source(source: str, name: str) -> None:
    assert create_output_name(Path("folder") / source) == name


def test_the_starter_model_becomes_a_checkpoint(qtbot: QtBot, starter_gguf: Path) -> None:
    controller = ConversionController(library_dir())
    journal = Journal(controller)
    with qtbot.waitSignal(controller.finished, timeout=TIMEOUT_MS) as blocker:
        controller.enqueue([starter_gguf])
    (report,) = blocker.args
    controller.shutdown()
    assert report.lossless
    assert report.output == library_dir() / starter_gguf.stem
    assert (report.output / "manifest.json").is_file()
    assert sum(line.startswith("progress") for line in journal.lines) > 30
