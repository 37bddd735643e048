"""The installer for Windows, made by NSIS on either system."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bundling.programs import need
from bundling.sizes import folder_bytes
from bundling.tools import PACKAGING, run
from bundling.version_resource import version_numbers

SCRIPT = PACKAGING / "windows" / "installer.nsi"


def definitions(bundle: Path, icon: Path, version: str, target: Path) -> dict[str, str]:
    """What the script is told; see its head."""
    return {
        "VERSION": version,
        "NUMBERS": ".".join(map(str, version_numbers(version))),
        "SOURCE": str(bundle),
        "ICON": str(icon),
        "OUT": str(target),
        "SIZE_KB": str(-(-folder_bytes(bundle) // 1024)),
    }


def build_installer(bundle: Path, icon: Path, version: str, target: Path) -> Path:
    """Writes `target`; some minutes of compression."""
    defined = [
        f"-D{name}={value}" for name, value in definitions(bundle, icon, version, target).items()
    ]
    words = [_find_makensis(), "-V2", "-INPUTCHARSET", "UTF8", *defined, str(SCRIPT)]
    if sys.platform == "win32":
        words[1:3] = ["/V2", "/INPUTCHARSET"]
        words = [f"/D{word[2:]}" if word.startswith("-D") else word for word in words]
    run(words, timeout_s=3600)
    return target


def _find_makensis() -> str:
    """NSIS' own setup does not put it on the path."""
    place = Path(os.environ.get("PROGRAMFILES(X86)", "")) / "NSIS" / "makensis.exe"
    return str(place) if place.is_file() else need("makensis")
