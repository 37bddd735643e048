"""Running programs with a limit of time, notes, and the folders of a build."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"


class PackagingError(RuntimeError):
    """A bundle cannot be built or does not work; one sentence."""


def note(text: str) -> None:
    """Where the build stands, on stderr."""
    sys.stderr.write(f"package: {text}\n")
    sys.stderr.flush()


def run(
    command: Sequence[object],
    *,
    timeout_s: float = 1800,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    accepted: Sequence[int] = (0,),
) -> int:
    """Runs to the end, with its output in `log`; returns the exit code. One that is not `accepted`
    is a PackagingError with the last lines.

    What is still running at the end of the time goes with its whole group.
    """
    words = [str(word) for word in command]
    code, output = _run_group(words, timeout_s, cwd, env)
    if log is not None:
        log.write_text(output, encoding="utf-8", errors="replace")
    if code not in accepted or code is None:
        raise PackagingError(f"{_describe(words, code, timeout_s)}\n{tail(output)}")
    return code


def capture(
    command: Sequence[object],
    *,
    timeout_s: float = 600,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """What it prints; otherwise like `run`."""
    words = [str(word) for word in command]
    code, output = _run_group(words, timeout_s, cwd, env, stderr=subprocess.DEVNULL)
    if code != 0:
        raise PackagingError(f"{_describe(words, code, timeout_s)}\n{tail(output)}")
    return output


def _run_group(
    words: Sequence[str],
    timeout_s: float,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    stderr: int = subprocess.STDOUT,
) -> tuple[int | None, str]:
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=cwd,
        env=env,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
            return process.returncode, output.decode(errors="replace")
        except subprocess.TimeoutExpired:
            end_group(process)
            return None, process.communicate()[0].decode(errors="replace")


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kills a process that was started with a session of its own, and all that it started."""
    if sys.platform == "win32":
        # Down the tree of parents: it must be asked while the first of them still lives.
        ask = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        subprocess.run(ask, capture_output=True, check=False)
        process.kill()  # nothing where it is gone
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _describe(words: Sequence[str], code: int | None, timeout_s: float) -> str:
    line = " ".join(words)
    line = line if len(line) < 200 else line[:200] + " ..."
    if code is None:
        return f"This command was ended after {timeout_s:.0f} s: {line}"
    return f"This command failed with exit code {code}: {line}"


def tail(output: str, num_lines: int = 30) -> str:
    """The last lines of it."""
    return "\n".join(output.splitlines()[-num_lines:])


def hash_file(path: Path) -> str:
    """Its SHA-256."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fresh(folder: Path) -> Path:
    """The folder, made anew and empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
