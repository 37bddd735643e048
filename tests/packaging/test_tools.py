"""Commands end in time, with all that they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from bundling.command import package
from bundling.options import parse, read_version
from bundling.tools import PackagingError, capture, end_group, fresh, run

import app


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(PackagingError, match="exit code 3") as caught:
        run([sys.executable, "-c", "print('the reason'); raise SystemExit(3)"])
    assert "the reason" in str(caught.value)


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    """The child holds the pipe that is read: had it lived on, its mark would be there by then."""
    mark = tmp_path / "mark"
    child = f"""
import pathlib, time
print("the child", "runs", flush=True)
time.sleep(30)
pathlib.Path({str(mark)!r}).touch()
"""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    for timeout_s in (0.5, 5, 50):  # until a busy machine has started both
        with pytest.raises(PackagingError, match=rf"ended after {timeout_s:.0f} s") as caught:
            run([sys.executable, "-c", code], timeout_s=timeout_s)
        if "the child runs" in str(caught.value):
            break
    assert "the child runs" in str(caught.value)
    assert not mark.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there the test above ends real children")
def test_on_windows_the_children_are_ended_before_their_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the parent is gone nothing tells who its children were."""
    told = tmp_path / "told"
    program = tmp_path / "taskkill"
    program.write_text(f'#!/bin/sh\nkill -0 "$4" && echo "$@" > "{told}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        monkeypatch.setattr(sys, "platform", "win32")
        end_group(process)
    assert told.read_text() == f"/F /T /PID {process.pid}\n"
    assert process.returncode == -signal.SIGKILL


def test_what_is_printed_is_captured_apart_from_errors() -> None:
    code = "import sys; print('你好'); sys.stderr.write('noise')"
    assert capture([sys.executable, "-X", "utf8", "-c", code]) == "你好\n"


def test_a_fresh_folder_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert list(fresh(tmp_path / "a").iterdir()) == []


def test_wrong_words_are_exit_code_2() -> None:
    assert package(["--fly"], install=print) == 2


def test_the_version_is_the_program_s() -> None:
    assert read_version() == app.__version__
    options = parse(["--full", "--no-starter", "--work", "w"])
    assert (options.is_full, options.has_starter, options.suffix) == (True, False, "-full")
    assert options.work.is_absolute()
