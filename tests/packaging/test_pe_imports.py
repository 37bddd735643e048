"""DLLs that a program wants, read from real PE files."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from bundling.pe_imports import imported_names, is_of_windows, missing_libraries

# pip brings programs of Windows, from which it makes those of other packages.
_LAUNCHER = Path(sysconfig.get_path("purelib")) / "pip" / "_vendor" / "distlib" / "w64.exe"
_COMPILER = shutil.which("x86_64-w64-mingw32-gcc")
_OBJDUMP = shutil.which("x86_64-w64-mingw32-objdump")


@pytest.mark.skipif(not _LAUNCHER.is_file(), reason="this pip brings no programs of Windows")
def test_a_program_of_windows() -> None:
    names = imported_names(_LAUNCHER)
    assert "kernel32.dll" in names
    assert all(is_of_windows(name) for name in names)
    if _OBJDUMP:
        command = [_OBJDUMP, "-p", str(_LAUNCHER)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert names == [name.lower() for name in re.findall(r"DLL Name: (\S+)", said)]


def test_other_files_have_none(tmp_path: Path) -> None:
    for content in (b"", b"MZ", b"MZ" + bytes(100), b"\x7fELF" + bytes(100)):
        path = tmp_path / "file"
        path.write_bytes(content)
        assert imported_names(path) == []


@pytest.mark.skipif(_COMPILER is None, reason="MinGW is not here")
def test_a_library_must_be_where_the_loader_looks(tmp_path: Path) -> None:
    inner = tmp_path / "_internal" / "package"
    inner.mkdir(parents=True)
    (tmp_path / "a.c").write_text("__declspec(dllexport) int a(void) { return 1; }\n")
    (tmp_path / "b.c").write_text(
        "int a(void);\n__declspec(dllexport) int b(void) { return a(); }\n"
    )
    library, module = inner / "needed.dll", inner / "module.pyd"
    for source, target, *more in ((tmp_path / "a.c", library), (tmp_path / "b.c", module, library)):
        command = [_COMPILER, "-shared", "-o", target, source, *more]
        subprocess.run([str(word) for word in command], check=True)
    assert missing_libraries(tmp_path) == {}
    library.rename(inner.parent / "needed.dll")
    assert missing_libraries(tmp_path) == {}
    elsewhere = tmp_path / "_internal" / "other"
    elsewhere.mkdir()
    (inner.parent / "needed.dll").rename(elsewhere / "needed.dll")
    assert missing_libraries(tmp_path) == {"needed.dll": ["_internal/package/module.pyd"]}
    elsewhere.rename(inner / "lib")
    assert missing_libraries(tmp_path) == {"needed.dll": ["_internal/package/module.pyd"]}
    inner.rename(inner.parent / "torch")  # adds its own `lib` to what is searched
    assert missing_libraries(tmp_path) == {}


@pytest.mark.parametrize("name", ["MSVCP140.dll", "vcruntime140_1.dll", "nvrtc64_120_0.dll"])
def test_what_comes_with_other_programs_is_not_of_windows(name: str) -> None:
    assert not is_of_windows(name)
