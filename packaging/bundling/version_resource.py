"""What Explorer shows under Properties, Details: a VSVersionInfo as PyInstaller reads it.

https://learn.microsoft.com/windows/win32/menurc/versioninfo-resource
"""

from __future__ import annotations

import re
from pathlib import Path

from bundling.tools import PackagingError

_FIELDS = """VSVersionInfo(
  ffi=FixedFileInfo(
    filevers={numbers}, prodvers={numbers}, mask=0x3F, flags={flags}, OS=0x40004, fileType=0x1,
    subtype=0x0, date=(0, 0)),
  kids=[
    StringFileInfo([StringTable('040904B0', [
      StringStruct('CompanyName', 'DeepInfer contributors'),
      StringStruct('FileDescription', 'DeepInfer'),
      StringStruct('FileVersion', {text!r}),
      StringStruct('InternalName', {program!r}),
      StringStruct('LegalCopyright', 'Apache License 2.0'),
      StringStruct('OriginalFilename', {file!r}),
      StringStruct('ProductName', 'DeepInfer Desktop'),
      StringStruct('ProductVersion', {text!r})])]),
    VarFileInfo([VarStruct('Translation', [1033, 1200])])
  ])
"""
_PRERELEASE = 0x2  # VS_FF_PRERELEASE
_KEY = "OriginalFilename"


def version_numbers(version: str) -> tuple[int, int, int, int]:
    """Four numbers of up to 16 bits: `1.2.3rc1` is (1, 2, 3, 0). ValueError for none at all."""
    match = re.match(r"\d+(\.\d+)*", version)
    if match is None:
        raise ValueError(f"{version!r} does not begin with a number.")
    numbers = [min(int(word), 0xFFFF) for word in match.group().split(".")]
    first, second, third, fourth, *_ = [*numbers, 0, 0, 0, 0]
    return first, second, third, fourth


def version_resource(version: str, program: str) -> str:
    """The file's text for `program`.exe."""
    is_release = re.fullmatch(r"\d+(\.\d+)*", version) is not None
    flags = 0 if is_release else _PRERELEASE
    words = {"text": version, "program": program, "file": f"{program}.exe"}
    return _FIELDS.format(numbers=version_numbers(version), flags=hex(flags), **words)


def check_names(bundle: Path) -> None:
    """PackagingError for a program of the bundle whose resource names another file."""
    for path in sorted(bundle.glob("*.exe")):
        if (said := read_original_filename(path)) != path.name:
            raise PackagingError(f"The version resource of {path.name} names {said!r}.")


def read_original_filename(program: Path) -> str:
    """What a finished program says that it is called; empty where it does not say.

    A key of the resource ends with a zero and is padded to 32 bits; so does its value.
    """
    _, key, rest = program.read_bytes().partition(_KEY.encode("utf-16-le"))
    return rest.decode("utf-16-le", errors="replace").lstrip("\0").split("\0")[0] if key else ""
