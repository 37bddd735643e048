"""The pictures in README.md: the real window with the starter model's real figures and reply.

Offscreen unless a platform is chosen; under a display server it is the same window.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from app.controllers.conversion_job import ConversionOptions
from benchmarks.measure import command_line, own_home
from benchmarks.window import WindowDriver

_FOLDER = Path(__file__).resolve().parents[1] / "resources" / "screenshots"
_COMPARED = ConversionOptions("w4", evaluate=True, compare=("w8", "w3"))
_PROMPT = "Write a Python function that adds two numbers, and explain it in two sentences."

_PORT_PROMPTS = (
    "What is the capital of France?",
    "Name three rivers of Europe.",
    "Tell a very long story about a lighthouse keeper, with many chapters.",
    "Write a very long letter from a sailor to his sister.",
)


def main() -> int:
    """Takes all pictures; returns 0."""
    command_line(__doc__).parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    _FOLDER.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        with own_home() as home, contextlib.chdir(home):
            # A relative home, so that no picture shows a path of this machine.
            os.environ["DEEPINFER_HOME"] = "DeepInfer"
            _take_pictures(theme)
    return 0


def _take_pictures(theme: str) -> None:
    with WindowDriver(theme=theme, temperature=0.0, max_tokens=256) as driver:
        driver.convert_starter(_COMPARED)
        driver.rest(1.0)
        driver.save(_FOLDER / f"quality-{theme}.png")
        driver.convert_starter()
        driver.rest(1.0)
        driver.save(_FOLDER / f"convert-{theme}.png")
        driver.validate_starter()
        driver.rest(1.0)
        driver.save(_FOLDER / f"validate-{theme}.png")
        driver.load_first_model()
        driver.ask(_PROMPT)
        driver.rest(2.0)
        driver.save(_FOLDER / f"chat-{theme}.png")
        driver.serve(_PORT_PROMPTS)
        driver.save(_FOLDER / f"server-{theme}.png")
        driver.stop_serving()


if __name__ == "__main__":
    sys.exit(main())
