"""What the registry says that opens a file is read as Windows would start it."""

from __future__ import annotations

import pytest
from bundling.wine_shell import read_command

_HEAD = "Windows Registry Editor Version 5.00\r\n\r\n[HKEY_CURRENT_USER\\Software\\Classes\\x]\r\n"


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_a_command_is_unescaped_and_split_at_its_marks(end: str) -> None:
    value = r'@="\"C:\\users\\用户 Müller\\a b.exe\" \"%1\""'
    assert read_command(_HEAD + value + end) == [r"C:\users\用户 Müller\a b.exe", "%1"]


def test_a_key_without_a_default_value_has_no_command() -> None:
    assert read_command(_HEAD + '"Other"="\\"C:\\\\x.exe\\""\r\n') == []
