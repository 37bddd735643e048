"""Does a Linux desktop know the program? Installed from its AppDir as a user does it, then asked
with the desktop's own tools: who opens a .gguf file, and does the menu's entry start the window.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bundling.programs import need
from bundling.screen import press, virtual_screen, wait_until
from bundling.tools import PackagingError, capture, end_group, run

_KIND = "application/x-gguf"
_ENTRY = "deepinfer.desktop"
_LIMIT_S = 60


def check_desktop_entry(app_dir: Path, home: Path, model: Path) -> dict[str, Any]:
    """PackagingError where the entry is not valid, `model` is of another type, another program
    would open it, the entry does not start the window, or something stays when it is removed."""
    # xdg-mime looks into files itself only where no desktop is named.
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "XDG_CURRENT_DESKTOP": "GNOME"}
    run([app_dir / "install.sh"], env=env)
    entry = home / ".local/share/applications" / _ENTRY
    validate = need("desktop-file-validate")
    if said := capture([validate, entry], env=env).strip():
        raise PackagingError(f"desktop-file-validate says: {said}")
    found = {"filetype": _ask(env, "filetype", model), "default": _default(env), "gio": _gio(env)}
    if found != {"filetype": _KIND, "default": _ENTRY, "gio": _ENTRY}:
        raise PackagingError(f"The desktop says of {model.name}: {found}")
    _start_by_entry(entry, home, env)
    run([app_dir / "install.sh", "--remove"], env=env)
    left = {"entry": entry.exists(), "default": _default(env)}
    if left != {"entry": False, "default": ""}:
        raise PackagingError(f"`install.sh --remove` left {left}.")
    return {**found, "started": True, "left": left}


def _ask(env: Mapping[str, str], what: str, about: Path | str) -> str:
    need("update-mime-database")
    return capture([need("xdg-mime"), "query", what, about], env=env).strip()


def _default(env: Mapping[str, str]) -> str:
    """By a link to the user's data: xdg-mime 1.1.3 cuts a folder's name at its spaces."""
    with tempfile.TemporaryDirectory(prefix="deepinfer-") as folder:
        link = Path(folder, "data")
        link.symlink_to(Path(env["HOME"], ".local/share"))
        return _ask({**env, "XDG_DATA_HOME": str(link)}, "default", _KIND)


def _gio(env: Mapping[str, str]) -> str:
    """The same as GNOME's programs find it."""
    lines = capture([need("gio"), "mime", _KIND], env=env).splitlines()
    return lines[0].rpartition(": ")[2]


def _start_by_entry(entry: Path, home: Path, env: Mapping[str, str]) -> None:
    """As a menu does: the entry's own line, read by GLib. The window is found by the class that the
    entry promises, and closed by its shortcut."""
    log = home / ".local/share/DeepInfer/logs/deepinfer.log"
    log.unlink(missing_ok=True)
    window_class = re.findall(r"^StartupWMClass=(.+)$", entry.read_text("utf-8"), re.MULTILINE)[0]
    with virtual_screen() as display:
        launcher = subprocess.Popen(
            [need("gio"), "launch", entry],
            env={**env, "DISPLAY": display},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            failure = f"The menu's entry opened no window of the class {window_class}"
            wait_until(lambda: _has_window(display, window_class), _LIMIT_S, failure)
            wait_until(lambda: _is_painted(log), _LIMIT_S, "That window was not painted")
            press(display, "ctrl+q")
            launcher.wait(timeout=_LIMIT_S)
            failure = "The program stayed after its window was closed"
            wait_until(lambda: not _has_group(launcher.pid), _LIMIT_S, failure)
        finally:
            end_group(launcher)


def _has_window(display: str, window_class: str) -> bool:
    words = ["search", "--onlyvisible", "--class", f"^{window_class}$"]
    command = [need("xdotool"), *words]
    env = {**os.environ, "DISPLAY": display}
    return subprocess.run(command, env=env, capture_output=True, check=False).returncode == 0


def _is_painted(log: Path) -> bool:
    return log.is_file() and "The window is painted" in log.read_text(encoding="utf-8")


def _has_group(pid: int) -> bool:
    """Whether a process of this group is left."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True
