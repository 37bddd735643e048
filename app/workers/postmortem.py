"""What is kept of a worker process that ended without being asked to."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from app.core.crash_reports import file_tail, write_report
from app.core.paths import worker_log_path, worker_stderr_path
from app.core.sentence import Sentence

# NTSTATUS, learn.microsoft.com/openspecs/windows_protocols/ms-erref.
_WINDOWS_CODES = {
    0xC0000005: Sentence("access violation"),
    0xC000001D: Sentence("illegal instruction"),
    0xC0000017: Sentence("no memory"),
    0xC00000FD: Sentence("stack overflow"),
    0xC0000374: Sentence("heap corruption"),
    0xC0000409: Sentence("fail fast"),
}


class Postmortem:
    """Made before the process starts: what it writes to stderr from then on is its own."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stderr = worker_stderr_path(name)
        self._start = self._stderr.stat().st_size if self._stderr.exists() else 0

    def report(self, exit_code: int) -> Path | None:
        """Keeps how it ended, what it wrote last and the end of its log."""
        what = f"The {self._name} process ended by itself with {describe_exit(exit_code)}."
        trace = file_tail(self._stderr, self._start)
        return write_report(what, trace, worker_log_path(self._name))


def describe_exit(exit_code: int) -> str:
    """`exit code 1`, and the signal or Windows' word where there is one."""
    if exit_code < 0:
        return Sentence("exit code {code}, {word}", code=exit_code, word=_signal_name(-exit_code))
    word = _WINDOWS_CODES.get(exit_code, "") if sys.platform == "win32" else ""
    if word:
        return Sentence("exit code {code:#x}, {word}", code=exit_code, word=word)
    return Sentence("exit code {code}", code=exit_code)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return Sentence("signal {number}", number=number)
