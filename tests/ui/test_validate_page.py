"""The Validate page shows what the controller tells, whatever comes of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.controllers.validation import ValidationController, ValidationState
from app.gui import Program
from app.ui.pages.validate_page import ValidatePage
from app.ui.widgets.chain_card import ChainCard
from tests.ui.scene_samples import CHAIN
from tests.ui.window_support import cells, drag_over, drop_on, texts

sys.path.insert(0, str(Path(__file__).parents[1] / "controllers"))
FAKE = "fake_validator:create_service"
TIMEOUT_MS = 120_000


@pytest.fixture
def controller(qtbot: QtBot) -> Iterator[ValidationController]:
    made = ValidationController(service=FAKE)
    yield made
    made.shutdown()


@pytest.fixture
def page(qtbot: QtBot, controller: ValidationController) -> ValidatePage:
    widget = ValidatePage(controller)
    qtbot.addWidget(widget)
    widget.resize(1000, 900)
    widget.show()
    return widget


def run(qtbot: QtBot, page: ValidatePage, controller: ValidationController, source: str) -> None:
    page.field.edit.setText(source)
    qtbot.keyClick(page.field.edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: controller.state is ValidationState.IDLE, timeout=TIMEOUT_MS)


def test_what_is_typed_is_checked_and_shown(
    qtbot: QtBot, page: ValidatePage, controller: ValidationController
) -> None:
    run(qtbot, page, controller, '  "tiny"  ')
    # Qt shows what was put into a layout from the event loop.
    qtbot.waitUntil(lambda: "app.spec.adapters.llama" in texts(page), timeout=TIMEOUT_MS)
    shown = texts(page)
    for expected in (
        "LlamaForCausalLM (llama)",
        "reference, cpu",
        "✓ Runs after conversion",
        "2 of 2 checks · 1 passed · 1 not run",
        "not run: no weights.",
        "The second check: no weights.",
        "1 the same · 1 different · 0 unconfirmed",
        "system, user",
    ):
        assert expected in shown
    assert cells(page.differences.table) == [["Data", "rope theta", "1e4", "5e5", "different"]]
    assert not page.checks.row("first").figures.isVisible()
    page.checks.row("first").figures_button.click()
    assert page.checks.row("first").figures.isVisible()
    assert "3e-06" in page.checks.row("first").figures.text()


def test_what_is_the_same_is_shown_on_demand(
    qtbot: QtBot, page: ValidatePage, controller: ValidationController
) -> None:
    run(qtbot, page, controller, "tiny")
    page.differences.same_button.click()
    assert [row[1] for row in cells(page.differences.table)] == ["rope theta", "q/k norm"]


def test_a_red_row_shows_its_figures(
    qtbot: QtBot, page: ValidatePage, controller: ValidationController
) -> None:
    run(qtbot, page, controller, "red")
    assert "✕ Refused" in texts(page)
    qtbot.waitUntil(page.checks.row("first").figures.isVisible, timeout=TIMEOUT_MS)
    assert page.checks.row("first").accessibleName() == "The first check: fail"
    assert not page.verdict.convert_button.isVisible()


@pytest.mark.parametrize("width", range(300, 900, 40))
def test_no_line_of_the_chain_ends_in_an_arrow(qtbot: QtBot, width: int) -> None:
    card = ChainCard()
    qtbot.addWidget(card)
    card.show_chain("Qwen3-4B", CHAIN)
    card.resize(width, 300)
    card.show()
    labels = [label for label in card.findChildren(QLabel) if label is not card.name]
    places = [(label.text(), label.mapTo(card, QPoint(0, 0))) for label in labels]
    after = [(a, b) for (text, a), (_, b) in pairwise(places) if text == "→"]
    assert len(after) == 4
    assert all(a.x() < b.x() and abs(a.y() - b.y()) < 20 for a, b in after)


def test_a_refusal_is_one_sentence_and_can_be_tried_again(
    qtbot: QtBot, page: ValidatePage, controller: ValidationController
) -> None:
    run(qtbot, page, controller, "bad")
    assert "bad was not validated" in texts(page)
    assert "bad is neither a file nor a repository." in texts(page)
    assert not page.checks.isVisible()


def test_cancelled_rows_are_marked(
    qtbot: QtBot, page: ValidatePage, controller: ValidationController
) -> None:
    page.field.edit.setText("slow")
    page.field.submit_button.click()
    qtbot.waitUntil(lambda: "layer 1 of 2" in texts(page), timeout=TIMEOUT_MS)
    page.checks.cancel_button.click()
    qtbot.waitUntil(lambda: controller.state is ValidationState.IDLE, timeout=TIMEOUT_MS)
    assert "Cancelled" in texts(page)
    assert page.checks.row("first").state.text() == "not run"
    assert not page.checks.progress.isVisible()


def test_convert_it_names_the_source(
    qtbot: QtBot, page: ValidatePage, controller: ValidationController
) -> None:
    run(qtbot, page, controller, "tiny")
    with qtbot.waitSignal(page.convert_requested) as asked:
        page.verdict.convert_button.click()
    assert asked.args == ["tiny"]


def test_a_drop_on_this_page_is_validated_elsewhere_converted(
    program: Program, tmp_path: Path, qtbot: QtBot
) -> None:
    window = program.window
    source = tmp_path / "broken.gguf"
    source.write_bytes(b"GGUF")
    window.show_page(window.validate_page)
    drag_over(window, [source])
    assert window.overlay.accessibleName() == "Drop to check broken.gguf"
    drop_on(window, [source])
    state = program.controllers.validation
    qtbot.waitUntil(lambda: state.state is ValidationState.IDLE, timeout=TIMEOUT_MS)
    assert window.validate_page.isVisible()
    assert str(source) in window.validate_page.field.edit.text()
    window.show_page(window.chat_page)
    drag_over(window, [source])
    assert window.overlay.accessibleName() == "Drop to convert broken.gguf"
