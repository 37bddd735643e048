"""What is kept when something of this program ends as it should not: text files that nobody sends.

A report is one readable file in `home_dir() / "crash_reports"`; the last MAX_REPORTS stay. Secrets,
prompts and settings that hold a text do not stand in it. Until somebody has been told of a report
it is `unseen`, over starts of the program.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import platform
import traceback
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from app import __version__
from app.core.device import describe_machine
from app.core.nvml import describe_cards
from app.core.paths import home_dir, log_path, settings_path
from app.core.secrets import redact

_log = logging.getLogger(__name__)

MAX_REPORTS = 10
NUM_LOG_LINES = 200
_PREFIX, _SUFFIX = "crash-", ".txt"
_SEEN_NAME = "seen.json"
# A trace of a deep recursion has thousands of lines, all alike.
_MAX_TRACE_CHARS = 60_000
_MAX_TAIL_BYTES = 256_000
_GIB = 1 << 30


def reports_dir() -> Path:
    """The folder; it need not be there."""
    return home_dir() / "crash_reports"


def write_report(what: str, trace: str, log: Path | None = None) -> Path | None:
    """Keeps a report and returns its path; None where it cannot be written.

    `what` is one line, `log` the log whose end belongs to it: by default this process's.
    """
    text = redact(_compose(what, trace, log or log_path()))
    path = reports_dir() / f"{_PREFIX}{datetime.now():%Y%m%d-%H%M%S-%f}{_SUFFIX}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
        _prune()
    except OSError as error:
        _log.warning("A crash report could not be written: %s", error)
        return None
    return path


def list_reports() -> tuple[Path, ...]:
    """All that are kept, the latest first."""
    return tuple(sorted(reports_dir().glob(f"{_PREFIX}*{_SUFFIX}"), reverse=True))


def unseen_reports() -> tuple[Path, ...]:
    """Those that nobody was told of, the latest first."""
    seen = _read_seen()
    return tuple(path for path in list_reports() if path.name not in seen)


def mark_seen(paths: Sequence[Path]) -> None:
    """Somebody was told of these."""
    kept = {path.name for path in list_reports()}
    names = sorted(kept & (_read_seen() | {path.name for path in paths}))
    with contextlib.suppress(OSError):
        (reports_dir() / _SEEN_NAME).write_text(json.dumps(names), encoding="utf-8")


def delete_report(path: Path) -> None:
    """Removes one; no effect on one that is gone."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def format_exception(error: BaseException) -> str:
    """The trace as Python prints it."""
    return "".join(traceback.format_exception(error))


def file_tail(path: Path, start: int = 0) -> str:
    """The text from byte `start` on, the last part of it where it is long; '' where there is none.

    From the beginning where the file has become shorter than `start`: it was begun anew.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            stream.seek(max(start if start <= size else 0, size - _MAX_TAIL_BYTES))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _compose(what: str, trace: str, log: Path) -> str:
    lines = file_tail(log).splitlines()[-NUM_LOG_LINES:]
    sections = {
        "What happened": what,
        "Machine": "\n".join(_machine_lines()),
        "Settings": "\n".join(_setting_lines()),
        "Trace": _cut(trace.strip()) or "none",
        f"The last {len(lines)} lines of {log.name}": "\n".join(lines) or "none",
    }
    head = "DeepInfer crash report. It was saved on this computer and is sent nowhere.\n"
    return head + "".join(f"\n== {title} ==\n{text}\n" for title, text in sections.items())


def _cut(trace: str) -> str:
    half = _MAX_TRACE_CHARS // 2
    return trace if len(trace) <= 2 * half else f"{trace[:half]}\n[...]\n{trace[-half:]}"


def _machine_lines() -> Iterator[str]:
    yield f"Version: {__version__}, Python {platform.python_version()}"
    yield f"Time: {datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z}"
    yield f"System: {platform.platform()}"
    machine = describe_machine()
    yield f"Processor: {machine.cpu_name}, {machine.num_cores} cores"
    free, total = machine.available_bytes / _GIB, machine.total_bytes / _GIB
    yield f"Memory: {free:.1f} GiB of {total:.1f} GiB free"
    yield f"Card: {describe_cards() or 'none that the NVIDIA driver tells of'}"


def _setting_lines() -> Iterator[str]:
    """Numbers, switches and choices; a text may be a prompt, an address with a password, a name."""
    from app.core.settings import SETTING_FIELDS

    try:
        values = json.loads(settings_path().read_text(encoding="utf-8"))
        known = {name: values[name] for name in SETTING_FIELDS if name in values}
    except (OSError, ValueError, TypeError):
        yield "defaults, or a file that cannot be read"
        return
    for name, value in known.items():
        is_choice = value in SETTING_FIELDS[name].metadata["choices"]
        is_plain = isinstance(value, int | float) or is_choice
        yield f"{name} = {value}" if is_plain else f"{name} is {'set' if value else 'empty'}"


def _prune() -> None:
    for path in list_reports()[MAX_REPORTS:]:
        delete_report(path)


def _read_seen() -> set[str]:
    try:
        names = json.loads((reports_dir() / _SEEN_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


class NativeTrace:
    """Where Python's fault handler writes while the process dies; a clean end removes it.

    A file that a process which is gone left behind becomes a report with the next start. One
    without a text is of a process that was killed, or whose machine went down: nothing to tell.
    """

    def __init__(self) -> None:
        self._path = reports_dir() / f"native-{os.getpid()}.trace"
        self._stream = None
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = self._path.open("w", encoding="utf-8")

    def enable(self) -> None:
        """From now on."""
        import faulthandler

        if self._stream is not None:
            faulthandler.enable(self._stream)

    def close(self) -> None:
        """The process ends as it should."""
        import faulthandler

        if self._stream is not None:
            faulthandler.disable()
            self._stream.close()
            self._stream = None
            delete_report(self._path)


def collect_native_traces() -> None:
    """Makes reports of what earlier processes left."""
    for path in reports_dir().glob("native-*.trace"):
        pid = path.stem.rpartition("-")[2]
        if pid == str(os.getpid()) or _is_running(pid, path):
            continue
        if trace := file_tail(path).strip():
            ended = datetime.fromtimestamp(path.stat().st_mtime)
            write_report(f"The program crashed on {ended:%Y-%m-%d at %H:%M:%S}.", trace)
        delete_report(path)


def _is_running(pid: str, trace: Path) -> bool:
    """Whether the writer lives: one of its number that is younger than the file is another."""
    import psutil  # not above: the window imports this module before its first paint

    with contextlib.suppress(psutil.Error, ValueError):
        return psutil.Process(int(pid)).create_time() <= trace.stat().st_mtime
    return False
