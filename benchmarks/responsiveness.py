"""How late the window's event loop is while a conversion and a reply run: a 10 ms timer's delay.

The real window and its real worker processes, offscreen unless a platform is chosen.
"""

from __future__ import annotations

import os

from benchmarks.lateness import Lateness
from benchmarks.measure import Figures, own_home, print_json
from benchmarks.window import WindowDriver

_NUM_TOKENS = 300
_PROMPT = "Write a long story about a lighthouse keeper and the sea, with a table and code in it."


def measure() -> dict[str, Figures]:
    """Lateness during conversion, model loading and generation."""
    figures: dict[str, Figures] = {}
    with own_home(), WindowDriver(temperature=0.0, max_tokens=_NUM_TOKENS) as driver:
        driver.rest(1.0)
        with Lateness() as lateness:
            driver.convert_starter()
        figures["conversion"] = lateness.figures()
        with Lateness() as lateness:
            driver.load_first_model()
        figures["loading"] = lateness.figures()
        with Lateness() as lateness:
            driver.ask(_PROMPT)
        figures["generation"] = lateness.figures()
    return figures


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    print_json(measure())
