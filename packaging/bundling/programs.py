"""The programs of other makers that a build calls. They are looked for before its first step: after
the last, a quarter of an hour later, is late to hear that one is missing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable

from bundling.options import Options
from bundling.tools import PackagingError

_PACKAGES = {  # of Debian
    "Xvfb": "xvfb",
    "debootstrap": "debootstrap",
    "desktop-file-validate": "desktop-file-utils",
    "gio": "libglib2.0-bin",
    "identify": "imagemagick",
    "import": "imagemagick",
    "makensis": "nsis",
    "strip": "binutils",
    "update-mime-database": "shared-mime-info",
    "x86_64-w64-mingw32-g++-posix": "g++-mingw-w64-x86-64-posix",
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
    "x86_64-w64-mingw32-objdump": "binutils-mingw-w64-x86-64",
    "xdg-mime": "xdg-utils",
    "xdotool": "xdotool",
}
_LINUX = ("strip",)
_LINUX_TRIAL = ("desktop-file-validate", "gio", "update-mime-database", "xdg-mime")
_WINE = ("debootstrap", *(name for name in _PACKAGES if name.startswith("x86_64-w64-")))
_SCREEN = ("Xvfb", "identify", "import", "xdotool")


def need(program: str) -> str:
    """Its path; a PackagingError names the Debian package that has it."""
    ensure_programs([program])
    return str(shutil.which(program))


def ensure_programs(
    programs: Iterable[str], install: Callable[[list[str]], object] = lambda packages: None
) -> None:
    """Has Debian's packages of those that are missing installed, where there are such; a
    PackagingError names what is missing then."""
    wanted = list(programs)
    if (missing := _missing(wanted)) and shutil.which("apt-get"):
        install(sorted({_PACKAGES[program] for program in missing}))
    if missing := _missing(wanted):
        packages = " ".join(sorted({_PACKAGES[program] for program in missing}))
        raise PackagingError(f"Missing: {', '.join(missing)}. `apt install {packages}` brings it.")


def programs_for(options: Options) -> tuple[str, ...]:
    """What will be called. On Windows nothing: the compiler and NSIS are found by themselves."""
    if sys.platform == "win32":
        return ()
    is_linux = not options.is_for_windows
    is_wine = options.is_for_windows or (options.is_for_all and os.geteuid() == 0)
    programs = (*_LINUX * is_linux, *_WINE * is_wine)
    if is_wine and options.has_archives:
        programs += ("makensis",)
    if options.has_smoke_test:
        programs += (*_SCREEN, *_LINUX_TRIAL * is_linux)
    return programs


def _missing(programs: Iterable[str]) -> list[str]:
    return [program for program in programs if shutil.which(program) is None]
