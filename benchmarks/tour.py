"""A tour of the window: every page in its states, both themes, both languages, 100 % and 200 %.

Writes contact sheets of each look into `docs/tour`, and every picture in its full size into the
folder, where one is named. Offscreen unless a platform
is chosen; under a display server it is the same window. Work of the starter model is real; the
other states are put through the controllers, as the tests of the window do (`tests.ui.scenes`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from app.ui.theme import ThemeMode
from benchmarks.camera import Camera
from benchmarks.contact_sheet import write_sheet
from benchmarks.measure import command_line, named, own_home
from benchmarks.window import WindowDriver
from tests.ui.scenes import SCENES, quiet_workers, title

_SHEETS = Path(__file__).resolve().parents[1] / "docs" / "tour"
_MODES = (ThemeMode.LIGHT, ThemeMode.DARK)
_WORK_SCALE = 100  # where the starter works, too
_PROMPT = "Write a Python function that adds two numbers, and explain it in two sentences."

# Offscreen Qt's own is 800 x 800: menus would be moved to the left.
_SCREEN = {
    **{"name": "screen", "x": 0, "y": 0, "width": 2560, "height": 1600},
    **{"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1.0},
}


class Look(NamedTuple):
    """How a tour is seen: the scale in percent, and the size of the window in logical pixels."""

    language: str
    scale: int
    width: int
    height: int

    @property
    def name(self) -> str:
        """Also that of its sheets."""
        return f"{self.language}-{self.scale}"


# 200 %: a laptop's 1366 x 768, the smallest that a window of this program is seen on.
LOOKS = (
    Look("en", 100, 1280, 800),
    Look("zh_CN", 100, 1280, 800),
    Look("en", 200, 683, 384),
    Look("zh_CN", 200, 683, 384),
)


def main() -> int:
    """Takes the tour in a process for each look; returns the worst exit code."""
    args = _parse()
    if args.child:
        _walk(args.looks[0], args.folder)
        return 0
    with tempfile.TemporaryDirectory() as own:
        folder = args.folder.resolve() if args.folder else Path(own)
        return max([_start(look, folder) for look in args.looks])


def _parse() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="keeps every picture")
    known = {look.name: look for look in LOOKS}
    parser.add_argument(
        "looks", nargs="*", type=named(known), default=LOOKS, help=f"of {', '.join(known)}"
    )
    parser.add_argument("--child", action="store_true", help="the process of one look")
    return parser.parse_args()


def _start(look: Look, folder: Path) -> int:
    """A process of its own, as Qt reads the scale when it starts."""
    environment = {**os.environ, "QT_SCALE_FACTOR": str(look.scale / 100)}
    if "QT_QPA_PLATFORM" not in environment:
        screen = folder / "screen.json"
        folder.mkdir(parents=True, exist_ok=True)
        screen.write_text(json.dumps({"screens": [_SCREEN]}))
        environment["QT_QPA_PLATFORM"] = f"offscreen:configfile={screen}"
    command = [sys.executable, "-m", "benchmarks.tour", "--child", str(folder), look.name]
    return subprocess.run(command, env=environment, check=False).returncode


def _walk(look: Look, folder: Path) -> None:
    for mode in _MODES:
        with _open_window(look, mode) as driver, quiet_workers():
            camera = Camera(driver.program, folder / look.name, mode)
            for scene in SCENES:
                scene(driver.program)
                camera.take(title(scene))
    if look.scale == _WORK_SCALE:
        with _open_window(look, _MODES[0]) as driver:
            _work(driver, Camera(driver.program, folder / look.name, *_MODES, first=len(SCENES)))
    for mode in _MODES:
        name = f"{look.name}-{mode.value}"
        write_sheet(sorted((folder / name).glob("*.png")), _SHEETS / f"{name}.jpg")


@contextlib.contextmanager
def _open_window(look: Look, mode: ThemeMode) -> Iterator[WindowDriver]:
    settings = {"language": look.language, "theme": mode.value}
    with own_home() as home, contextlib.chdir(home):
        # A relative home, so that no picture shows a path of this machine.
        os.environ["DEEPINFER_HOME"] = "DeepInfer"
        with WindowDriver(temperature=0.0, max_tokens=120, **settings) as driver:
            driver.window.resize(look.width, look.height)
            yield driver


def _work(driver: WindowDriver, camera: Camera) -> None:
    driver.convert_starter()
    camera.take("the starter was converted")
    driver.validate_starter()
    camera.take("the starter was validated")
    driver.load_first_model()
    driver.begin_reply(_PROMPT)
    camera.take("it answers")
    driver.finish_reply()
    camera.take("it has answered")


if __name__ == "__main__":
    sys.exit(main())
