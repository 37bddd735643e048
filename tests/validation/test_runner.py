"""The runner: its events, cancelling, what it does without torch, and the report."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from app.cli.main import main
from app.core.errors import JobCancelledError
from app.core.events import Event
from app.core.jobs import CancelToken
from app.core.validation_events import (
    CheckFinished,
    CheckStarted,
    CheckStatus,
    DifferencesFound,
    ValidationFinished,
    ValidationStarted,
    VerdictStatus,
)
from app.validation.catalogue import CHECKS
from app.validation.check import TITLES
from app.validation.runner import validate
from tests.starter_tokenizer import build_files, write_files
from tests.validation_tools import report_on, statuses, write_config


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """config.json of a tiny Qwen3."""
    return write_config(tmp_path / "tiny-qwen", "qwen3", head_dim=16)


def test_every_row_has_a_title_and_a_function() -> None:
    assert list(CHECKS) == list(TITLES)


def test_events_come_in_order(folder: Path) -> None:
    events: list[Event] = []
    report = validate(str(folder), events.append)
    first, last = events[0], events[-1]
    assert isinstance(first, ValidationStarted)
    assert first.name == "tiny-qwen"
    assert first.chain.config == "Qwen3ForCausalLM (qwen3)"
    assert first.chain.adapter == "app.spec.adapters.qwen3"
    assert [planned.name for planned in first.checks] == list(TITLES)
    started = [event.name for event in events if isinstance(event, CheckStarted)]
    finished = [event.check.name for event in events if isinstance(event, CheckFinished)]
    assert started == finished == list(TITLES)
    assert sum(isinstance(event, DifferencesFound) for event in events) == 3
    assert isinstance(last, ValidationFinished)
    assert last.report == report


@pytest.mark.parametrize("row", ["reference", "smoke_one_layer", "long_position"])
def test_a_cancel_ends_it(row: str, folder: Path) -> None:
    """At once, counted in this thread's time: others may keep the machine busy."""
    token, events, cancelled_s = CancelToken(), [], 0.0

    def listen(event: Event) -> None:
        nonlocal cancelled_s
        events.append(event)
        if event == CheckStarted(row):
            token.cancel()
            cancelled_s = time.thread_time()

    with pytest.raises(JobCancelledError):
        validate(str(folder), listen, token)
    assert time.thread_time() - cancelled_s < 1.0
    finished = [event.check.name for event in events if isinstance(event, CheckFinished)]
    assert finished == list(TITLES)[: list(TITLES).index(row)]


def test_nothing_is_left_behind(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    report_on(folder)
    assert list(scratch.iterdir()) == []
    assert [path.name for path in folder.iterdir()] == ["config.json"]


def test_without_torch_the_rest_runs(
    tmp_path: Path, starter_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_config(tmp_path, "llama", vocab_size=49152)
    write_files(build_files(starter_gguf), folder)
    monkeypatch.setitem(sys.modules, "torch", None)
    report = report_on(folder)
    found = statuses(report)
    assert report.verdict.status is VerdictStatus.CONVERT
    assert {name for name, status in found.items() if status is CheckStatus.PASS} == {
        "recognised",
        "differences_data",
        "differences_generation",
        "tokenizer",
        "chat_template",
        "stop_tokens",
    }
    assert CheckStatus.FAIL not in found.values()
    reference = next(check for check in report.checks if check.name == "reference")
    assert reference.detail.startswith("torch is not installed; `python3 dev.py install reference`")
    assert any("torch is not installed" in line for line in report.unverified)


def test_importing_it_needs_neither_torch_nor_transformers() -> None:
    import subprocess

    code = (
        "import sys, app.validation.runner;"
        "print([n for n in ('torch', 'transformers', 'huggingface_hub') if n in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_command_saves_both_reports(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "report.md"
    assert main(["validate", str(folder), "--report", str(saved), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"]["status"] == "convert"
    assert [check["name"] for check in document["checks"]] == list(TITLES)
    assert {check["status"] for check in document["checks"]} == {"pass", "not_run"}
    assert document["report"] == json.loads(saved.with_suffix(".json").read_text(encoding="utf-8"))
    text = saved.read_text(encoding="utf-8")
    for wanted in (
        "# Integration report: tiny-qwen",
        "| q/k norm | same | over each head | over each head |",
        "## Not verified",
        "| transformers |",
    ):
        assert wanted in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize("name", ["report.json", "no-such-folder/report.md"])
def test_a_report_that_could_not_be_saved_is_refused_before_any_work(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["validate", str(folder), "--report", str(tmp_path / name)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, "no check was run"


def test_the_report_has_a_name(folder: Path) -> None:
    assert report_on(folder).file_name == "tiny-qwen_integration_report.md"
