"""What a program says to Windows is read back out of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bundling.manifest import SOURCE, check_programs, read_manifest
from bundling.tools import PackagingError


def test_ours_says_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.exe").write_bytes(b"MZ\0" + SOURCE.read_bytes() + b"\0more")
    assert read_manifest(tmp_path / "a.exe")["activeCodePage"] == "UTF-8"
    check_programs(tmp_path)


@pytest.mark.parametrize("lost", ["longPathAware", "PerMonitorV2", "asInvoker", "UTF-8<"])
def test_a_word_that_was_lost_ends_the_build(tmp_path: Path, lost: str) -> None:
    text = SOURCE.read_text(encoding="utf-8").replace(lost, "x" + lost[1:])
    (tmp_path / "a.exe").write_bytes(b"MZ\0" + text.encode())
    with pytest.raises(PackagingError, match=r"manifest of a\.exe lacks"):
        check_programs(tmp_path)


def test_a_program_without_one_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.exe").write_bytes(b"MZ\0")
    assert read_manifest(tmp_path / "a.exe") == {}
    with pytest.raises(PackagingError, match="lacks"):
        check_programs(tmp_path)
