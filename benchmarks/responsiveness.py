"""How late the window's event loop is while it converts, loads and replies, and all at once.

The real window and its real worker processes, offscreen unless a platform is chosen.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace

from app.controllers.conversion_job import ConversionOptions
from app.core.paths import library_dir
from app.hub.starter import require_starter
from benchmarks.lateness import Lateness
from benchmarks.measure import Figures, command_line, own_home, print_json
from benchmarks.window import WindowDriver

_NUM_TOKENS = 300
_MANY_TOKENS = 3000
_AT_ONCE_S = 30.0
_PROMPT = "Write a long story about a lighthouse keeper and the sea, with a table and code in it."


def measure() -> dict[str, Figures]:
    """Lateness during conversion, model loading and generation, then during all at once."""
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
        figures["conversion, generation and live plots"] = _measure_all_at_once(driver)
    return figures


class _EndlessConversion:
    """The starter model is made into 8 bits, and again, until it shall end."""

    def __init__(self, driver: WindowDriver) -> None:
        self._driver = driver
        self._conversion = driver.controllers.conversion
        self._is_wanted = True
        self.num_finished = 0
        self._conversion.finished.connect(self._on_finished)
        self._begin()

    def end(self) -> None:
        """Cancels what runs, and waits: the window would ask before it closed."""
        self._is_wanted = False
        self._conversion.cancel()
        self._driver.wait_until(lambda: self._conversion.current_job is None, "the cancellation")

    def _begin(self) -> None:
        options = ConversionOptions(grid="w8", allow_lossy=True)
        output = library_dir() / "again"
        self._conversion.enqueue([require_starter()], options, overwrite=True, output=output)

    def _on_finished(self) -> None:
        self.num_finished += 1
        if self._is_wanted:
            self._begin()


def _measure_all_at_once(driver: WindowDriver) -> Figures:
    """Replies stream into the page that is shown, beside the plots; conversions run behind it."""
    chat, live = driver.controllers.chat, driver.window.chat_page.panel.live
    driver.wait_until(lambda: live.memory_plot is not None, "the plots")
    chat.set_sampling(replace(chat.conversation.sampling, max_tokens=_MANY_TOKENS))
    texts: list[str] = []
    chat.text_appended.connect(lambda _id, text: texts.append(text))
    conversions = _EndlessConversion(driver)
    end_s = time.monotonic() + _AT_ONCE_S
    with Lateness() as lateness:
        while time.monotonic() < end_s or not conversions.num_finished:
            driver.ask(_PROMPT)
    conversions.end()
    counts = {"conversions": conversions.num_finished, "repaints": len(texts)}
    return lateness.figures() | counts


if __name__ == "__main__":
    command_line(__doc__).parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    print_json(measure())
