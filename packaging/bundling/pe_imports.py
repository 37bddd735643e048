"""Does every DLL that a Windows bundle asks for come with it, or with every Windows?

A missing one shows only on a fresh machine: the builder's has Visual C++'s run time already. PE
files are read by https://learn.microsoft.com/windows/win32/debug/pe-format.
"""

from __future__ import annotations

import fnmatch
import struct
from collections.abc import Iterator
from pathlib import Path

# In System32 of every Windows 10 (1809) and later, 64 bit. icuuc: since 1903.
_SYSTEM = (
    *("advapi32", "api-ms-win-*", "authz", "bcrypt", "bcryptprimitives", "cfgmgr32", "combase"),
    *("comctl32", "comdlg32", "crypt32", "d2d1", "d3d11", "d3d12", "d3d9", "dbghelp", "dcomp"),
    *("dnsapi", "dwmapi", "dwrite", "dxgi", "ext-ms-*", "gdi32", "icuin", "icuuc", "imm32"),
    *("imagehlp", "wintrust"),
    *("iphlpapi", "kernel32", "mpr", "mscms", "msi", "msimg32", "msvcrt", "ncrypt", "netapi32"),
    *("normaliz", "ntdll", "ole32", "oleaut32", "opengl32", "pdh", "powrprof", "propsys", "psapi"),
    *("rpcrt4", "secur32", "setupapi", "shcore", "shell32", "shlwapi", "ucrtbase", "user32"),
    *(
        "userenv",
        "usp10",
        "uxtheme",
        "version",
        "winhttp",
        "winmm",
        "ws2_32",
        "wsock32",
        *("uiautomationcore", "wtsapi32"),
    ),
)
_QT_FOLDERS = ("PySide6", "shiboken6")
_IMPORTS = 1  # of the optional header's data directories
_ENTRY_BYTES = 20


def imported_names(path: Path) -> list[str]:
    """The DLLs that a 64-bit PE file is linked against, in lower case; [] for any other file."""
    data = path.read_bytes()
    header = _find_header(data)
    if header is None:
        return []
    num_sections, optional_bytes = struct.unpack_from("<H12xH", data, header + 6)
    optional = header + 24
    if struct.unpack_from("<H", data, optional)[0] != 0x20B:  # PE32+
        return []
    address = struct.unpack_from("<I", data, optional + 112 + 8 * _IMPORTS)[0]
    sections = _read_sections(data, optional + optional_bytes, num_sections)
    return list(_read_names(data, address, sections)) if address else []


def missing_libraries(folder: Path) -> dict[str, list[str]]:
    """DLL -> files that want it, of those that are neither Windows' nor found by the loader.

    The loader looks beside the file and in `_internal`, which the program adds to the search; Qt's
    package adds its own two folders, torch its `lib`, for all that lies in them. A library
    in another folder counts where it bears a hash in its name, as delvewheel's do.
    """
    files = [path for path in folder.rglob("*") if path.suffix.lower() in (".exe", ".dll", ".pyd")]
    top = {path.name.lower() for path in files if path.parent.name == "_internal"}
    hashed = {path.name.lower() for path in files if path.parent.name.endswith(".libs")}
    of_qt = {path.name.lower() for path in files if path.parent.name in _QT_FOLDERS}
    of_torch = {path.name.lower() for path in files if path.parts[-3:-1] == ("torch", "lib")}
    missing: dict[str, list[str]] = {}
    for path in files:
        beside = {other.name.lower() for other in path.parent.iterdir()} | top | hashed
        beside |= of_qt if any(name in path.parts for name in _QT_FOLDERS) else set()
        beside |= of_torch if "torch" in path.parts else set()
        for name in imported_names(path):
            if name not in beside and not is_of_windows(name):
                missing.setdefault(name, []).append(path.relative_to(folder).as_posix())
    return missing


def is_of_windows(name: str) -> bool:
    """Whether every Windows has this DLL."""
    stem = name.lower().removesuffix(".dll").removesuffix(".drv")
    return stem == "winspool" or any(fnmatch.fnmatch(stem, pattern) for pattern in _SYSTEM)


def _find_header(data: bytes) -> int | None:
    if len(data) < 64 or data[:2] != b"MZ":
        return None
    header: int = struct.unpack_from("<I", data, 60)[0]
    return header if data[header : header + 4] == b"PE\0\0" else None


def _read_sections(data: bytes, start: int, count: int) -> list[tuple[int, int, int]]:
    """(address, bytes, place in the file) of each."""
    sections = []
    for index in range(count):
        size, address, raw_size, raw = struct.unpack_from("<IIII", data, start + 40 * index + 8)
        sections.append((address, max(size, raw_size), raw))
    return sections


def _read_names(data: bytes, address: int, sections: list[tuple[int, int, int]]) -> Iterator[str]:
    entry = _place(address, sections)
    while name_address := struct.unpack_from("<I", data, entry + 12)[0]:
        start = _place(name_address, sections)
        yield data[start : data.index(b"\0", start)].decode("ascii").lower()
        entry += _ENTRY_BYTES


def _place(address: int, sections: list[tuple[int, int, int]]) -> int:
    for start, size, raw in sections:
        if start <= address < start + size:
            return raw + address - start
    raise ValueError(f"Address {address:#x} is in no section.")
