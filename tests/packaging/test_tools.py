"""Commands end in time, with all that they started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bundling.command import package
from bundling.options import parse, read_version
from bundling.tools import PackagingError, capture, fresh, need, run

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


def test_what_is_printed_is_captured_apart_from_errors() -> None:
    code = "import sys; print('你好'); sys.stderr.write('noise')"
    assert capture([sys.executable, "-X", "utf8", "-c", code]) == "你好\n"


def test_a_missing_tool_is_named_with_its_package() -> None:
    with pytest.raises(PackagingError, match="apt install no-package"):
        need("no-such-program-here", "no-package")


def test_a_fresh_folder_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert list(fresh(tmp_path / "a").iterdir()) == []


def test_wrong_words_are_exit_code_2() -> None:
    assert package(["--fly"]) == 2


def test_the_version_is_the_program_s() -> None:
    assert read_version() == app.__version__
    options = parse(["--full", "--no-starter", "--work", "w"])
    assert (options.is_full, options.has_starter, options.suffix) == (True, False, "-full")
    assert options.work.is_absolute()
