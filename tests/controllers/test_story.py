"""A story tells a page that is built later what matters of what was told before."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QObject, Signal
from pytestqt.qtbot import QtBot

from app.controllers.story import Slots, Story, follow

Told = list[tuple[object, ...]]


class _Teller(QObject):
    begun = Signal(str)
    progressed = Signal(object)
    ended = Signal()

    def __init__(self) -> None:
        super().__init__()
        names = ("begun", "progressed", "ended")
        self.story = Story(self, names, beginnings=("begun",), latest=("progressed",))


@pytest.fixture
def teller(qtbot: QtBot) -> _Teller:
    return _Teller()


def _slots(told: Told, *names: str) -> Slots:
    return {name: lambda *values, n=name: told.append((n, *values)) for name in names}


def test_of_what_repeats_the_last_is_told_in_its_place(teller: _Teller) -> None:
    teller.begun.emit("a")
    for number in (1, 2, 3):
        teller.progressed.emit(number)
    teller.ended.emit()
    told: Told = []
    teller.story.tell(_slots(told, "begun", "progressed", "ended"))
    assert told == [("begun", "a"), ("progressed", 3), ("ended",)]


def test_a_beginning_forgets_what_was_before(teller: _Teller) -> None:
    teller.begun.emit("a")
    teller.progressed.emit(1)
    teller.begun.emit("b")
    told: Told = []
    teller.story.tell(_slots(told, "begun", "progressed"))
    assert told == [("begun", "b")]


def test_what_nobody_asks_for_is_left_out(teller: _Teller) -> None:
    teller.begun.emit("a")
    teller.ended.emit()
    told: Told = []
    teller.story.tell(_slots(told, "ended"))
    assert told == [("ended",)]


def test_who_follows_hears_what_comes(teller: _Teller) -> None:
    told: Told = []
    follow(teller, _slots(told, "begun", "ended"))
    teller.begun.emit("a")
    teller.progressed.emit(1)
    teller.ended.emit()
    assert told == [("begun", "a"), ("ended",)]
