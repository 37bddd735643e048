"""A screen that nobody sees, and pictures of it: Xvfb, ImageMagick, xdotool."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bundling.programs import need
from bundling.tools import PackagingError, end_group, run

_FIRST_DISPLAY = 61
_SIZE = "1400x900x24"


@contextmanager
def virtual_screen() -> Iterator[str]:
    """Gives the DISPLAY of a fresh Xvfb, which ends with the block."""
    program = need("Xvfb")
    number = next(
        n for n in range(_FIRST_DISPLAY, 200) if not Path(f"/tmp/.X11-unix/X{n}").exists()
    )
    command = [program, f":{number}", "-screen", "0", _SIZE, "-nolisten", "tcp"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(Path(f"/tmp/.X11-unix/X{number}").exists, 20, "Xvfb did not start")
        yield f":{number}"
    finally:
        end_group(process)
        process.wait()


def photograph(display: str, target: Path) -> int:
    """Writes a PNG of the whole screen; returns how many colours are in it: 1 is an empty one."""
    env = _env(display)
    run([need("import"), "-window", "root", target], env=env, timeout_s=60)
    count = subprocess.run(
        [need("identify"), "-format", "%k", str(target)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return int(count.stdout)


def photograph_window(
    display: str, target: Path, timeout_s: float, least_colours: int = 200
) -> None:
    """Waits for a window with text and icons on the screen, and for its picture to stand still."""
    state = {"before": -1}

    def is_painted() -> bool:
        colours, before = photograph(display, target), state["before"]
        state["before"] = colours
        return colours == before and colours >= least_colours

    wait_until(is_painted, timeout_s, "No window was painted", interval_s=1.0)


def press(display: str, keys: str) -> None:
    """A key, for the window that has the keyboard: without a window manager, the first visible."""
    tool = need("xdotool")
    run(
        [tool, "search", "--onlyvisible", "--name", ".+", "windowfocus"],
        env=_env(display),
        timeout_s=30,
    )
    # Apart, so that it goes through the keyboard: X refuses what is sent to a window that closes.
    run([tool, "key", keys], env=_env(display), timeout_s=30)


def wait_until(
    is_so: Callable[[], bool], timeout_s: float, failure: str, interval_s: float = 0.1
) -> None:
    """Asks again and again; PackagingError(failure) at the end of the time."""
    end_s = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > end_s:
            raise PackagingError(f"{failure} within {timeout_s:.0f} s.")
        time.sleep(interval_s)


def _env(display: str) -> Mapping[str, str]:
    return {**os.environ, "DISPLAY": display}
