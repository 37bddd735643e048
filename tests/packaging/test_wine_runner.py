"""A program for Windows has succeeded when Windows says so, whatever became of Wine's process."""

from __future__ import annotations

from pathlib import Path

import pytest
from bundling.wine_runner import Runner, tell_failure


@pytest.mark.parametrize("wine_code", [0, 137])
def test_a_good_end_counts_also_where_wine_kills_what_is_left(wine_code: int) -> None:
    assert tell_failure(0, wine_code) is None


@pytest.mark.parametrize("wine_code", [0, 1, 120, 124, 137])
def test_an_end_that_nobody_saw_is_a_failure(wine_code: int) -> None:
    assert str(wine_code) in str(tell_failure(None, wine_code))


@pytest.mark.parametrize("code", [1, 3, 256, 3221225477])
def test_a_bad_end_is_one_whatever_wine_says(code: int) -> None:
    assert all(str(code) in str(tell_failure(code, wine_code)) for wine_code in (0, 1, 137))


def test_a_good_end_under_a_failing_wine_is_a_failure() -> None:
    assert tell_failure(0, 124)


def test_what_an_earlier_program_ended_with_is_forgotten(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    program, target = runner.words()
    assert runner.read_code() is None
    written = tmp_path / target.removeprefix("Z:").replace("\\", "/").lstrip("/")
    written.parent.mkdir(parents=True)
    written.write_text("0\n")
    assert runner.read_code() == 0
    assert runner.words() == [program, target]
    assert runner.read_code() is None
