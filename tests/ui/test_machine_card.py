"""What this computer is, in words: on the first page, in the settings, in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.cards import Card
from app.core.machine_events import MachineDescribed, ModelSize
from app.core.sentence import Sentence
from app.core.settings import Topic
from app.gui import Program
from app.ui.machine_labels import advice, facts
from app.ui.widgets.machine_card import MachineCard
from tests.ui.scene_samples import CARD, MACHINE, SIZES
from tests.ui.window_support import TIMEOUT_MS, running_program, texts


def report(card: Card | None = CARD, sizes: tuple[ModelSize, ...] = SIZES) -> MachineDescribed:
    problem = "" if card else Sentence("No NVIDIA driver found.")
    return replace(MACHINE, card=card, card_problem=problem, sizes=sizes)


def test_the_facts_of_a_machine() -> None:
    shown = [(name, value.replace("\u00a0", " ")) for name, value in facts(report())]
    assert shown == [
        (
            "Graphics card",
            "NVIDIA GeForce RTX 3050 Laptop GPU  ·  4.0 GiB, 3.0 GiB free  ·  driver 551.23",
        ),
        ("Processor", "AMD Ryzen 5 5600H  ·  cores: 6  ·  AVX2"),
        ("Memory", "16.0 GiB, 9.0 GiB free"),
        ("Disk", "120 GiB free"),
    ]
    assert facts(report(card=None))[0] == ("Graphics card", "No NVIDIA driver found.")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (
            SIZES,
            "Models up to about 3B at 4 bits answer quickly here. 7B fits with 1,900 tokens of "
            "context, and takes its time.",
        ),
        (SIZES[:2], "Models up to about 3B at 4 bits answer quickly here."),
        (
            SIZES[2:],
            "Models answer slowly here now; the smallest do best. 7B fits with 1,900 tokens of "
            "context, and takes its time.",
        ),
        (SIZES[3:], "There is no room for a model now: close other programs."),
    ],
)
def test_what_will_run_well(sizes: tuple[ModelSize, ...], expected: str) -> None:
    assert advice(report(sizes=sizes)) == expected


@pytest.fixture
def looking(qtbot: QtBot) -> Iterator[Program]:
    with running_program(looks_at_machine=True) as program:
        yield program


def test_the_first_page_tells_what_this_machine_is(qtbot: QtBot, looking: Program) -> None:
    """By the real process; the window itself imports nothing of it."""
    machine = looking.controllers.machine
    qtbot.waitUntil(lambda: machine.report is not None, timeout=TIMEOUT_MS)
    assert machine.report is not None
    expected = advice(machine.report)
    assert expected in texts(looking.window.chat_page.empty)
    qtbot.waitUntil(lambda: not machine._link.is_running, timeout=TIMEOUT_MS)

    looking.window.show_page(looking.window.settings_page)
    looking.window.settings_page.show_topic(Topic.MODELS)
    card = looking.window.settings_page.findChild(MachineCard)
    assert card is not None
    assert card.isVisible()
    assert card.advice.text() == expected


def test_the_first_page_says_when_nothing_can_be_told(qtbot: QtBot, program: Program) -> None:
    def says(text: str) -> None:  # what is built anew is shown with the next event
        qtbot.waitUntil(lambda: text in texts(empty), timeout=TIMEOUT_MS)

    unknown = "What this computer has could not be found out."
    empty = program.window.chat_page.empty
    empty.show_first_run()
    says("Looking at this computer…")
    program.controllers.machine.failed.emit()
    says(unknown)
    assert "Looking at this computer…" not in texts(empty)
    empty.show_first_run()
    says(unknown)
    program.controllers.machine.described.emit(report())
    says(advice(report()))


def test_who_has_models_is_not_looked_at_until_they_want_to_read_it(program: Program) -> None:
    machine, looks = program.controllers.machine, []
    card = program.window.settings_page.findChild(MachineCard)
    assert card is not None
    card.look_requested.connect(lambda: looks.append(True))
    program.window.show_page(program.window.settings_page)
    assert looks == []
    program.window.settings_page.show_topic(Topic.MODELS)
    assert looks == [True]
    machine.described.emit(report())
    program.window.settings_page.show_topic(Topic.APPEARANCE)
    program.window.settings_page.show_topic(Topic.MODELS)
    assert looks == [True]
    QApplication.processEvents()
