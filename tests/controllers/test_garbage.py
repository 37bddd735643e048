"""Cycles die on the GUI thread, whoever makes them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.garbage import GuiGarbageCollector

TIMEOUT_MS = 120_000


class Cycle:
    """Notes the thread on which it dies."""

    def __init__(self, deaths: list[threading.Thread]) -> None:
        self._deaths = deaths
        self._me = self

    def __del__(self) -> None:
        self._deaths.append(threading.current_thread())


def make_garbage(deaths: list[threading.Thread]) -> None:
    for _ in range(20_000):
        Cycle(deaths)


@pytest.fixture
def collector(qtbot: QtBot) -> Iterator[GuiGarbageCollector]:
    made = GuiGarbageCollector()
    yield made
    made.stop()


def test_garbage_of_another_thread_dies_here(qtbot: QtBot, collector: GuiGarbageCollector) -> None:
    deaths: list[threading.Thread] = []
    maker = threading.Thread(target=make_garbage, args=(deaths,))
    maker.start()
    maker.join()
    assert deaths == []
    qtbot.waitUntil(lambda: len(deaths) == 20_000, timeout=TIMEOUT_MS)
    assert set(deaths) == {threading.main_thread()}


def test_stop_gives_collecting_back(qtbot: QtBot) -> None:
    deaths: list[threading.Thread] = []
    collector = GuiGarbageCollector()
    Cycle(deaths)
    assert not gc.isenabled()
    collector.stop()
    assert gc.isenabled()
    assert len(deaths) == 1
