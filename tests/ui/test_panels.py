"""The columns beside the transcript: conversations and sampling."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtWidgets import (
    QApplication,
    QInputDialog,
    QLabel,
    QListView,
    QMenu,
    QPushButton,
)
from pytestqt.qtbot import QtBot

from app.chat.transcript import ConversationSummary
from app.core.sampling_settings import SamplingSettings
from app.ui.widgets.conversation_panel import ConversationPanel
from app.ui.widgets.sampling_panel import SamplingPanel
from app.ui.widgets.slider_field import SliderField

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
TIMEOUT_MS = 60_000
ROWS = [ConversationSummary(name, f"Title {name}", NOW) for name in ("a", "b", "c")]

CHANGED = SamplingSettings(
    temperature=1.25,
    top_k=40,
    top_p=0.9,
    min_p=0.05,
    repetition_penalty=1.1,
    presence_penalty=0.5,
    frequency_penalty=-0.5,
    seed=42,
    max_tokens=512,
    stop=("END", "###"),
)


@pytest.fixture
def conversations(qtbot: QtBot) -> ConversationPanel:
    panel = ConversationPanel()
    qtbot.addWidget(panel)
    panel.show()
    return panel


@pytest.fixture
def sampling(qtbot: QtBot) -> SamplingPanel:
    panel = SamplingPanel()
    qtbot.addWidget(panel)
    panel.show()
    return panel


@pytest.mark.parametrize("typed", ["+", "1,000", "-1", "1234"])
def test_a_seed_is_digits(qtbot: QtBot, sampling: SamplingPanel, typed: str) -> None:
    """Qt takes more for a whole number than Python does."""
    with qtbot.waitSignal(sampling.sampling_changed, timeout=TIMEOUT_MS) as changed:
        sampling._seed.setText("7")
        sampling._seed.clear()
        qtbot.keyClicks(sampling._seed, typed)
    digits = "".join(filter(str.isdigit, typed))
    assert changed.args == [SamplingSettings(seed=int(digits) if digits else None)]


def test_clicking_a_conversation_asks_for_it(
    qtbot: QtBot, conversations: ConversationPanel
) -> None:
    conversations.show_conversations(ROWS, "a")
    view = conversations.findChild(QListView)
    with qtbot.waitSignal(conversations.open_requested) as blocker:
        place = view.visualRect(view.model().index(1, 0)).center()
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert blocker.args == ["b"]


def test_showing_a_list_asks_for_nothing(qtbot: QtBot, conversations: ConversationPanel) -> None:
    with qtbot.assertNotEmitted(conversations.open_requested):
        conversations.show_conversations(ROWS, "c")
        conversations.select("a")
    view = conversations.findChild(QListView)
    assert view.currentIndex().data() == "Title a"


def test_list_is_walked_by_keys(qtbot: QtBot, conversations: ConversationPanel) -> None:
    conversations.show_conversations(ROWS, "a")
    with qtbot.waitSignal(conversations.open_requested) as blocker:
        qtbot.keyClick(conversations.findChild(QListView), Qt.Key.Key_Down)
    assert blocker.args == ["b"]


def test_search_is_told_once_after_typing(qtbot: QtBot, conversations: ConversationPanel) -> None:
    queries: list[str] = []
    conversations.search_changed.connect(lambda: queries.append(conversations.query))
    qtbot.keyClicks(conversations.search_field, "sky")
    qtbot.waitUntil(lambda: bool(queries), timeout=10_000)
    assert queries == ["sky"]


def test_folders_filter_the_list_once_there_are_some(
    qtbot: QtBot, conversations: ConversationPanel
) -> None:
    conversations.show_folders(())
    assert (conversations.folder, conversations.folder_button.isVisible()) == (None, False)
    conversations.show_folders(("Ideas", "work"))
    assert conversations.folder_button.isVisible()
    for number, folder in enumerate(("Ideas", "work", "", None), 1):
        action = conversations.folder_button.menu().actions()[number % 4]
        with qtbot.waitSignal(conversations.search_changed):
            action.trigger()
        assert conversations.folder == folder
    conversations.folder_button.menu().actions()[2].trigger()
    conversations.show_folders(("Ideas",))  # the other is empty now
    assert conversations.folder is None


def _texts(menu: QMenu) -> list[str]:
    return [action.text() for action in menu.actions() if not action.isSeparator()]


def test_menu_of_a_conversation(qtbot: QtBot, conversations: ConversationPanel) -> None:
    conversations.show_folders(("Ideas", "work"))
    menu = conversations.create_menu(replace(ROWS[0], is_pinned=True, folder="work"))
    assert _texts(menu) == ["Unpin", "Folder", "Rename…", "Duplicate", "Export", "Delete"]
    pin, folder, _, duplicate, export, _, delete = menu.actions()
    assert _texts(folder.menu()) == ["Ideas", "work", "Take out of the folder", "New folder…"]
    ideas, work, _, take_out, _ = folder.menu().actions()
    assert (ideas.isChecked(), work.isChecked()) == (False, True)
    markdown, document = export.menu().actions()
    expected = (
        (pin, conversations.pin_requested, ["a", False]),
        (ideas, conversations.move_requested, ["a", "Ideas"]),
        (take_out, conversations.move_requested, ["a", ""]),
        (duplicate, conversations.duplicate_requested, ["a", f"Copy of {ROWS[0].title}"]),
        (markdown, conversations.export_requested, ["a", ".md"]),
        (document, conversations.export_requested, ["a", ".json"]),
        (delete, conversations.delete_requested, ["a"]),
    )
    for action, signal, arguments in expected:
        with qtbot.waitSignal(signal) as blocker:
            action.trigger()
        assert blocker.args == arguments


@pytest.mark.parametrize(
    ("position", "signal", "text"), [(2, "rename_requested", "new"), (1, "move_requested", "new")]
)
def test_names_are_asked_for_after_the_menu_has_closed(
    qtbot: QtBot, conversations: ConversationPanel, position: int, signal: str, text: str
) -> None:
    menu = conversations.create_menu(ROWS[0])
    menu.popup(conversations.mapToGlobal(QPoint(5, 5)))
    action = menu.actions()[position]
    menu.hide()
    (action if action.menu() is None else action.menu().actions()[-1]).trigger()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    dialog = conversations.findChild(QInputDialog)
    dialog.setTextValue("  new ")
    with qtbot.waitSignal(getattr(conversations, signal)) as blocker:
        dialog.accept()
    assert blocker.args == ["a", text]


def test_empty_list_says_what_will_be_here(conversations: ConversationPanel) -> None:
    conversations.show_conversations([], None)
    assert any("listed here" in label.text() for label in conversations.findChildren(QLabel))


def test_sampling_round_trip(qtbot: QtBot, sampling: SamplingPanel) -> None:
    with qtbot.assertNotEmitted(sampling.sampling_changed, wait=400):
        sampling.show_settings("Be brief.", CHANGED)
    assert sampling.sampling == CHANGED
    assert sampling.system_prompt == "Be brief."


def test_values_beyond_a_slider_are_kept(sampling: SamplingPanel) -> None:
    large = SamplingSettings(top_k=5000, max_tokens=100_000, temperature=4.5)
    sampling.show_settings("", large)
    assert sampling.sampling == large


def test_changes_are_told_once_and_can_be_hurried(qtbot: QtBot, sampling: SamplingPanel) -> None:
    told: list[SamplingSettings] = []
    sampling.sampling_changed.connect(told.append)
    field = sampling.findChildren(SliderField)[0]
    for value in (0.3, 0.4, 0.5):
        field.spin_box.setValue(value)
    sampling.flush()
    qtbot.wait(400)
    assert [settings.temperature for settings in told] == [0.5]


def test_slider_and_field_agree(qtbot: QtBot, sampling: SamplingPanel) -> None:
    field = sampling.findChildren(SliderField)[0]
    field.slider.setValue(10)
    assert field.spin_box.value() == pytest.approx(0.5)
    field.spin_box.setValue(1.0)
    assert field.slider.value() == 20


def test_reset_keeps_the_system_prompt(qtbot: QtBot, sampling: SamplingPanel) -> None:
    sampling.show_settings("Be brief.", CHANGED)
    button = next(b for b in sampling.findChildren(QPushButton) if "Reset" in b.text())
    with qtbot.waitSignal(sampling.sampling_changed) as blocker:
        button.click()
    assert blocker.args == [SamplingSettings()]
    assert sampling.system_prompt == "Be brief."
