"""What a screen reader finds on every page, the keyboard's way through it, and a reply's speech."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt, QTranslator
from PySide6.QtGui import QAccessible, QAccessibleInterface, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QButtonGroup,
    QMenu,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.accessible import FoldInterface
from app.ui.main_window import MainWindow
from app.ui.widgets import reply_speech
from app.ui.widgets.reply_card import ReplyCard
from app.ui.widgets.reply_speech import find_end
from app.ui.widgets.slider_field import SliderField
from app.ui.widgets.switch import Switch
from tests.ui.scene_samples import TURNS
from tests.ui.scenes import SCENES, quiet_workers
from tests.ui.window_support import running_program

Role = QAccessible.Role
# What somebody can do something with; texts and groups may have no name of their own.
OPERATED = {
    *(Role.Button, Role.ButtonMenu, Role.CheckBox, Role.RadioButton, Role.ComboBox, Role.Link),
    *(Role.EditableText, Role.SpinBox, Role.Slider, Role.MenuItem, Role.PageTab),
    *(Role.List, Role.ListItem, Role.Table, Role.Tree, Role.ProgressBar, Role.Dialog),
}
VAGUE = {Role.NoRole, Role.Client, Role.Border, Role.Pane, Role.StaticText, Role.Window}
MAX_CHILDREN = 60
# One state of each page, with what stands there most of the time.
PAGES = ("chat_ready", "convert_planned", "validate_finished", "download_repository", "server_busy")
PAGES += ("library_items", "settings_models")
TAB = Qt.FocusReason.TabFocusReason


@pytest.fixture(params=["en"])
def program(request: pytest.FixtureRequest, qapp: QApplication, qtbot: QtBot) -> Iterator[Program]:
    """With a screen reader that listens."""
    SettingsStore(settings_path()).update(language=request.param)
    QAccessible.setActive(True)
    with quiet_workers(), running_program() as running:
        running.window.resize(1280, 800)
        with qtbot.waitActive(running.window, timeout=20_000):
            running.window.activateWindow()
        yield running
    QAccessible.setActive(False)
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.deleteLater()


def tree(root: QAccessibleInterface | None) -> Iterator[QAccessibleInterface]:
    """What is visible of it and below."""
    if root is None or not root.isValid() or root.state().invisible:
        return
    yield root
    for position in range(min(root.childCount(), MAX_CHILDREN)):
        yield from tree(root.child(position))


def above(window: QWidget) -> list[QWidget]:
    tops = QApplication.topLevelWidgets()
    return [top for top in tops if top is not window and top.isVisible()]


def walk(program: Program) -> Iterator[str]:
    """Every scene, one after the other, by its name."""
    for scene in SCENES:
        scene(program)
        for _ in range(3):
            QApplication.processEvents()
        yield scene.__name__
        for top in above(program.window):
            top.close()


@pytest.mark.parametrize(
    "program", [pytest.param("en", marks=pytest.mark.slow), "zh_CN"], indirect=True
)
def test_everything_that_can_be_operated_is_told_as_what_it_is(program: Program) -> None:
    found: dict[tuple[str, str], str] = {}
    roles: dict[str, set[QAccessible.Role]] = {}
    for scene in walk(program):
        unfold(program.window)
        for top in (program.window, *above(program.window)):
            for node in tree(QAccessible.queryAccessibleInterface(top)):
                kind = type(node.object()).__name__
                roles.setdefault(kind, set()).add(node.role())
                if problem := problem_of(node):
                    found[kind, problem] = f"{scene}: {node.text(QAccessible.Text.Name)!r}"
    assert found == {}
    assert nameless_menus(program.window) == []
    assert roles["Switch"] == roles["QCheckBox"] == {Role.CheckBox}
    assert roles["TextTab"] == roles["_PageButton"] == {Role.PageTab}
    assert roles["TabStrip"] == {Role.PageTabList}
    assert roles["QRadioButton"] == {Role.RadioButton}
    assert roles["FoldButton"] == roles["_Title"] == roles["SwapButton"] == {Role.Button}
    assert roles["_CalmSlider"] == {Role.Slider}
    assert roles["CalmSpinBox"] == {Role.SpinBox}
    assert roles["LibraryTable"] == {Role.Tree}
    assert roles["Banner"] == {Role.AlertMessage}
    assert roles["MemoryPlot"] == roles["RatePlot"] == roles["ErrorChart"] == {Role.Chart}


def problem_of(node: QAccessibleInterface) -> str:
    """Why a screen reader would tell nothing, or something wrong, of it; '' where it does not."""
    told, role = node.object(), node.role()
    if role in OPERATED and not node.text(QAccessible.Text.Name):
        return f"a {role.name} without a name"
    if not isinstance(told, QWidget):
        return ""
    takes_keys = told.focusPolicy() & Qt.FocusPolicy.TabFocus and told.isEnabled()
    can_be_read = role is Role.StaticText and node.textInterface() is not None
    if takes_keys and not told.focusProxy() and role in VAGUE and not can_be_read:
        return f"the keyboard comes to a {role.name}"
    if takes_keys and min(told.width(), told.height()) < 2:
        return "the keyboard comes to what cannot be seen"
    if isinstance(told, QAbstractButton):
        return _problem_of_button(node, told)
    return ""


def _problem_of_button(node: QAccessibleInterface, button: QAbstractButton) -> str:
    group: QButtonGroup | None = button.group()
    is_exclusive = button.autoExclusive() or (group is not None and group.exclusive())
    state = node.state()
    if is_exclusive and node.role() not in (Role.PageTab, Role.RadioButton):
        return f"a {node.role().name} is one of several"
    if node.role() is Role.PageTab and bool(state.selected) is not button.isChecked():
        return "a tab that does not tell whether it is in front"
    hides_something = state.expandable and bool(state.expanded) is not button.isChecked()
    return "a fold that does not tell whether it is open" if hides_something else ""


def nameless_menus(window: MainWindow) -> list[tuple[str, ...]]:
    """Each with its entries; all are opened."""
    found = []
    menus = [menu for menu in window.findChildren(QMenu) if menu is not window.tray.menu]
    assert len(menus) > 5
    for menu in menus:
        menu.popup(QPoint(0, 0))
        node = QAccessible.queryAccessibleInterface(menu)
        assert node.role() is Role.PopupMenu
        entries = [entry for entry in tree(node) if entry.role() is Role.MenuItem]
        told = [part.text(QAccessible.Text.Name) for part in (node, *entries)]
        if not (all(told) and entries):
            found.append((type(menu.parent()).__name__, *told))
        menu.close()
    return found


def unfold(window: MainWindow) -> None:
    """Shows all that can be shown."""
    for button in window.findChildren(QAbstractButton):
        if getattr(type(button), "told_as", None) is FoldInterface:
            button.setChecked(True)
    for _ in range(2):
        QApplication.processEvents()


def test_a_screen_reader_puts_tabs_in_front_and_moves_sliders(program: Program) -> None:
    """Through what it is offered, and is told what became of it."""
    window = program.window
    settings = QAccessible.queryAccessibleInterface(window.navigation.button(6))
    action = settings.actionInterface()
    assert action.pressAction() in action.actionNames()
    action.doAction(action.pressAction())
    assert window.desk.current_page is window.settings_page
    assert settings.state().selected
    assert not settings.state().checkable
    window.show_page(window.chat_page)
    field = window.chat_page.panel.findChild(SliderField)
    slider = QAccessible.queryAccessibleInterface(field.slider)
    slider.valueInterface().setCurrentValue(25)
    assert field.value == 1.25
    assert slider.text(QAccessible.Text.Name).endswith(": 1.25")


def test_a_conversation_is_told_from_its_beginning(program: Program) -> None:
    """Also where its cards were made from the end upwards; and each from its top."""
    told: list[str] = []
    for scene in walk(program):
        if scene == "chat_conversation":
            program.window.chat_page.transcript._work.finish()
            node = QAccessible.queryAccessibleInterface(program.window.chat_page.transcript)
            told = [type(part.object()).__name__ for part in tree(node)]
            break
    cards = [kind for kind in told if kind in ("UserCard", "ReplyCard")]
    expected = [type(card).__name__ for card in program.window.chat_page.transcript.cards]
    assert cards == expected == ["UserCard", "ReplyCard"] * 2
    last = told[len(told) - told[::-1].index("ReplyCard") - 1 :]
    assert last.index("TextSegment") < last.index("CopyButton")


def test_controls_tell_their_values(program: Program) -> None:
    nodes = list(tree(QAccessible.queryAccessibleInterface(program.window)))
    sliders = [node for node in nodes if node.role() is Role.Slider]
    assert sliders
    assert all(node.valueInterface() is not None for node in sliders)
    switch = program.window.findChild(Switch)
    state = QAccessible.queryAccessibleInterface(switch).state()
    assert state.checkable
    assert not state.checked


def test_the_keyboard_reaches_everything_and_leaves_it_again(
    qtbot: QtBot, program: Program
) -> None:
    """Tab walks in a circle: every button is in it, and nothing keeps it."""
    window = program.window
    for scene in walk(program):
        if scene not in PAGES:
            continue
        with qtbot.waitActive(window, timeout=20_000):
            window.activateWindow()
        start = window.navigation.theme_button
        start.setFocus(TAB)
        seen: list[QWidget | None] = [start]
        while len(seen) < 120:
            QTest.keyClick(seen[-1], Qt.Key.Key_Tab)
            if (focused := QApplication.focusWidget()) is start:
                break
            assert focused not in (None, seen[-1]), f"{scene}: {seen[-1]} keeps the focus"
            seen.append(focused)
        assert focused is start, f"{scene}: Tab never comes back"
        missed = [b for b in window.findChildren(QAbstractButton) if _is_missed(b, seen)]
        assert [button.accessibleName() or button.text() for button in missed] == [], scene


def test_arrow_keys_go_from_page_to_page(qtbot: QtBot, program: Program) -> None:
    window = program.window
    buttons = [window.navigation.button(position) for position in range(7)]
    window.show_page(window.chat_page)
    buttons[0].setFocus(TAB)
    for position in (1, 2, 3, 2):
        focused = QApplication.focusWidget()
        is_down = position > buttons.index(focused)
        QTest.keyClick(focused, Qt.Key.Key_Down if is_down else Qt.Key.Key_Up)
        assert QApplication.focusWidget() is buttons[position]
        assert buttons[position].isChecked()
    assert window.validate_page.isVisible()


def _is_missed(button: QAbstractButton, seen: list[QWidget | None]) -> bool:
    if not (button.isVisible() and button.isEnabled()) or button in seen:
        return False
    group: QButtonGroup | None = button.group()
    is_inner = not type(button).__module__.startswith("app.") and type(button) is not QPushButton
    return not is_inner and not (group and any(other in seen for other in group.buttons()))


@pytest.fixture
def _steady_cursor() -> Iterator[None]:
    before = QApplication.cursorFlashTime()
    QApplication.setCursorFlashTime(0)
    yield
    QApplication.setCursorFlashTime(before)


@pytest.mark.usefixtures("_steady_cursor")
def test_focus_can_be_seen(qtbot: QtBot, program: Program) -> None:
    """A control that the keyboard has come to looks otherwise than without the focus."""
    window, unseen, num_seen = program.window, [], 0
    for scene in walk(program):
        if scene not in (*PAGES, "chat_conversation"):
            continue
        with qtbot.waitActive(window, timeout=20_000):
            window.activateWindow()
        for child in window.findChildren(QWidget):
            if not (child.isVisible() and child.isEnabled()) or child.focusProxy():
                continue
            if not child.focusPolicy() & Qt.FocusPolicy.TabFocus or child.visibleRegion().isEmpty():
                continue
            places = (window.navigation.theme_button, window.findChild(Switch))
            next(place for place in places if place is not child).setFocus(TAB)
            before = _picture(child)
            child.setFocus(TAB)
            assert QApplication.focusWidget() is child, child.accessibleName()
            num_seen += 1
            if _picture(child) == before:
                unseen.append((scene, type(child).__name__, child.accessibleName()))
    assert {kind: (scene, name) for scene, kind, name in unseen} == {}
    assert num_seen > 100


def _picture(child: QWidget) -> QImage:
    """With what surrounds it, as some draw the ring there."""
    QApplication.processEvents()
    parent = child.parentWidget()
    around = child.geometry().adjusted(-16, -16, 16, 16)
    return parent.grab(around.intersected(parent.rect())).toImage()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Air scatters blue light", ""),
        ("Air scatters blue light. Mor", "Air scatters blue light. "),
        ("Pi is 3.14 and", ""),
        ('He said "no." Then', 'He said "no." '),
        ("天空是蓝色的。因为", "天空是蓝色的。"),
        ("- one\n- tw", "- one\n"),
    ],
)
def test_sentences_end_where_a_reader_would_pause(text: str, told: str) -> None:
    assert text[: find_end(text, 0)] == told


@pytest.fixture
def spoken(monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> list[str]:
    """What a screen reader is given to say."""
    told: list[str] = []
    monkeypatch.setattr(reply_speech.QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(
        reply_speech.QAccessible, "updateAccessibility", lambda event: told.append(event.message())
    )
    return told


def test_a_reply_is_told_by_sentences_not_by_tokens(qtbot: QtBot, spoken: list[str]) -> None:
    card = ReplyCard("Tiny")
    qtbot.addWidget(card)
    tokens = ("<think>Hm. Well.</think>", "Air ", "scatters", " blue. ", "More than", " red")
    for token in tokens:
        card.append(token)
    assert spoken == ["Air scatters blue."], "thoughts are folded"
    card.finish(replace(TURNS[3], content="".join(tokens)))
    assert spoken[1:] == ["More than red"]


def test_what_was_said_long_ago_is_not_told_again(qtbot: QtBot, spoken: list[str]) -> None:
    card = ReplyCard("Tiny")
    qtbot.addWidget(card)
    card.finish(TURNS[1])
    assert spoken == []
