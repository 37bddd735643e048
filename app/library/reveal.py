"""Shows a file in the system's file manager, selected where the file manager can do that."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from app.core.errors import ResourceError

_TIMEOUT_S = 5.0
Run = Callable[[Sequence[str]], int]


def reveal(path: Path, *, platform: str = sys.platform, run: Run | None = None) -> None:
    """Raises ResourceError where there is no file manager. `run` returns a command's exit status;
    OSError where the command does not exist.
    """
    place = path.absolute()
    run = run or _run
    for command in _commands(place, platform):
        try:
            status = run(command)
        except OSError:
            continue
        # Explorer ends with 1 even when it has opened its window.
        if status == 0 or platform == "win32":
            return
    raise ResourceError("No file manager could be opened; the file is {place}.", place=place)


def _commands(path: Path, platform: str) -> list[list[str]]:
    """From the best to the plainest."""
    if platform == "win32":
        return [["explorer.exe", f"/select,{path}"]]
    if platform == "darwin":
        return [["open", "-R", str(path)]]
    folder = path if path.is_dir() else path.parent
    # freedesktop.org's file manager interface; dbus-send reads commas as ends of array entries.
    uri = path.as_uri().replace(",", "%2C")
    show = [
        "dbus-send",
        "--session",
        "--print-reply",
        "--dest=org.freedesktop.FileManager1",
        "/org/freedesktop/FileManager1",
        "org.freedesktop.FileManager1.ShowItems",
        f"array:string:{uri}",
        "string:",
    ]
    return [show, ["xdg-open", str(folder)]]


def _run(command: Sequence[str]) -> int:
    try:
        process = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 0  # it is open, and stays
    return process.returncode
