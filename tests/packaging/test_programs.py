"""The programs that a build calls are there before its first step, or named all at once."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from bundling import programs
from bundling.command import package
from bundling.options import parse
from bundling.programs import ensure_programs, need, programs_for
from bundling.tools import PACKAGING, PackagingError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is called there")

ALL = ["--all", "--full"]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs: nothing but apt-get in it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    _put(tmp_path, "apt-get")
    return tmp_path


def _put(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def test_what_is_missing_is_installed_at_once_before_the_first_step(machine: Path) -> None:
    asked: list[list[str]] = []

    def install(packages: list[str]) -> None:
        asked.append(packages)
        for name in programs_for(parse(ALL)):
            _put(machine, name)

    ensure_programs(programs_for(parse(ALL)), install)
    ensure_programs(programs_for(parse(ALL)), install)
    assert len(asked) == 1
    assert {"imagemagick", "nsis", "debootstrap", "xdg-utils", "xvfb"} <= set(asked[0])
    assert need("import") == str(machine / "import")


def test_what_is_missing_still_is_named_with_its_packages(
    machine: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["--all", "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]
    assert package(words, install=lambda packages: None) == 1
    said = capsys.readouterr().err
    assert "makensis" in said
    assert "apt install binutils" in said
    assert list((tmp_path / "work").iterdir()) == []  # nothing was begun
    with pytest.raises(PackagingError, match="apt install xdotool"):
        need("xdotool")


def test_only_what_will_be_called_is_asked_for(machine: Path) -> None:
    del machine
    assert programs_for(parse(["--no-smoke"])) == ("strip",)
    assert "makensis" in programs_for(parse(["--windows"]))
    assert "makensis" not in programs_for(parse(["--windows", "--no-archives"]))
    assert "gio" not in programs_for(parse(["--windows"]))


def test_every_program_that_is_called_is_asked_for(machine: Path) -> None:
    del machine
    text = "".join(path.read_text("utf-8") for path in (PACKAGING / "bundling").glob("*.py"))
    called = set(re.findall(r'\bneed\(\s*"([^"]+)"', text))
    assert len(called) > 10
    assert called == set(programs_for(parse(ALL))) == set(programs._PACKAGES)
