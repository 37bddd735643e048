"""Crash reports are readable, few, seen once, and hold no secret and no prompt."""

from __future__ import annotations

import faulthandler
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import __version__
from app.core import secrets
from app.core.crash_reports import (
    MAX_REPORTS,
    NUM_LOG_LINES,
    collect_native_traces,
    delete_report,
    list_reports,
    mark_seen,
    reports_dir,
    unseen_reports,
    write_report,
)
from app.core.paths import log_path, settings_path
from app.core.secrets import remember_prompts, remember_secret

ROOT = Path(__file__).parents[2]
# A real start of the fault handler as the window has it, and a real end by a signal.
DYING = """
import os, sys
from app.core.crash_reports import NativeTrace
trace = NativeTrace()
trace.enable()
if sys.argv[1] == "close":
    trace.close()
os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(secrets, "_known", set())
    monkeypatch.setattr(secrets, "_prompt_lines", {})
    yield
    faulthandler.enable()  # as pytest had it


def write_log(*lines: str) -> None:
    log_path().parent.mkdir(parents=True, exist_ok=True)
    log_path().write_text("\n".join(lines), encoding="utf-8")


def read_report(what: str = "It broke.", trace: str = "Traceback: here") -> str:
    path = write_report(what, trace)
    assert path is not None
    return path.read_text(encoding="utf-8")


def test_it_says_what_where_and_what_came_before() -> None:
    write_log(*(f"line {number}" for number in range(500)))
    text = read_report()
    assert "It broke." in text
    assert "Traceback: here" in text
    assert f"Version: {__version__}" in text
    assert re.search(r"Processor: .+, \d+ cores", text)
    assert re.search(r"Memory: [\d.]+ GiB of [\d.]+ GiB free", text)
    assert "Card: " in text
    last = [line for line in text.splitlines() if line.startswith("line ")]
    assert last == [f"line {number}" for number in range(500 - NUM_LOG_LINES, 500)]


def test_no_secret_and_no_prompt_is_in_it() -> None:
    key, token = "sk-my-own-key-of-the-port", "hf_abcdefghijklmnop"
    prompt = "My doctor says 'it is\nnothing at all to worry about'"
    remember_secret(key)
    remember_prompts([prompt])
    settings = {
        "system_prompt": "You are my therapist",
        "hub_proxy": "http://me:password@proxy:80",
        "remote_url": "https://private.example/v1",
        "theme": "dark",
        "font_percent": 110,
        "keeps_kv": True,
    }
    settings_path().write_text(json.dumps(settings), encoding="utf-8")
    write_log(f"asked with {key}", f"Authorization: Bearer {token}", f"refused {prompt!r}")
    text = read_report(trace=f"ValueError: {prompt}\n{prompt!r}\n{token}")
    for secret in (key, token, "doctor", "worry", "therapist", "password", "private.example"):
        assert secret not in text, secret
    assert "system_prompt is set" in text
    for line in ("theme = dark", "font_percent = 110", "keeps_kv = True"):
        assert line in text


def test_only_the_last_ones_stay() -> None:
    for number in range(MAX_REPORTS + 3):
        write_report(f"number {number}.", "")
    texts = [path.read_text(encoding="utf-8") for path in list_reports()]
    assert len(texts) == MAX_REPORTS
    assert f"number {MAX_REPORTS + 2}." in texts[0]
    assert "number 3." in texts[-1]


def test_each_is_told_of_once() -> None:
    first, second = write_report("a", ""), write_report("b", "")
    assert first is not None
    assert second is not None
    assert unseen_reports() == (second, first)
    mark_seen([first])
    assert unseen_reports() == (second,)
    delete_report(second)
    delete_report(second)
    assert unseen_reports() == ()
    assert list_reports() == (first,)


def test_an_endless_trace_is_cut_and_a_home_that_is_a_file_costs_the_report_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = read_report(trace="begin" + "x" * 1_000_000 + "end")
    assert len(text) < 100_000
    assert "begin" in text
    assert "end" in text
    (tmp_path / "file").touch()
    monkeypatch.setenv("DEEPINFER_HOME", str(tmp_path / "file"))
    assert write_report("nowhere", "") is None


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("end", "number", "num_reports"),
    [("crash", signal.SIGSEGV, 1), ("crash", signal.SIGKILL, 0), ("close", signal.SIGSEGV, 0)],
)
def test_a_native_crash_is_a_report_of_the_next_start(
    end: str, number: signal.Signals, num_reports: int
) -> None:
    command = [sys.executable, "-c", DYING, end, str(int(number))]
    code = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    ).returncode
    assert code == -number
    collect_native_traces()
    assert list(reports_dir().glob("native-*")) == []
    reports = unseen_reports()
    assert len(reports) == num_reports
    if reports:
        text = reports[0].read_text(encoding="utf-8")
        assert "Segmentation fault" in text
        assert "in <module>" in text
