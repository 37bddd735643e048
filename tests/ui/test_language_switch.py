"""Another language while the window is open: everything speaks it at once, and nothing is lost."""

from __future__ import annotations

import gc
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from difflib import ndiff
from pathlib import Path

import pytest
from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractListModel,
    QEvent,
    QMetaMethod,
    QModelIndex,
    QObject,
    Qt,
)
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.chat.attachments import Attachment
from app.core.events import TokensGenerated
from app.core.paths import resources_dir
from app.core.settings import Topic
from app.gui import Program
from app.ui.widgets.reply_card import ReplyCard
from tests.ui.scenes import (
    banners,
    chat_first_run,
    chat_ready,
    convert_failed,
    convert_finished,
    convert_planned,
    convert_running,
    download_failed,
    download_repository,
    download_results,
    download_running,
    library_failed,
    library_items,
    library_verifying,
    quiet_workers,
    server_busy,
    server_failed,
    validate_failed,
    validate_finished,
    validate_running,
)

CATALOGUE = resources_dir() / "i18n" / "deepinfer_zh_CN.ts"
# Plain texts of the scenes, where the program itself has sentences.
OF_SCENES = re.compile(
    "The disk is full after .*|.* is gated: .*|Port 8231 is in use.*|The settings could not .*"
)


def switch(program: Program, language: str) -> None:
    """As the Settings page does it, to the end."""
    row = program.window.settings_page.rows["language"]
    row.control.set_value(language)
    row.changed.emit("language", language)
    QApplication.processEvents()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert program.window.settings_page.rows["language"] is not row


def _of_widget(widget: QWidget) -> Iterator[str]:
    yield from (widget.toolTip(), widget.accessibleName(), widget.accessibleDescription())
    match widget:
        case QLabel() | QAbstractButton():
            yield widget.text()
        case QLineEdit() | QPlainTextEdit():
            yield widget.placeholderText()
        case QDoubleSpinBox():
            yield from (widget.suffix(), widget.specialValueText())
        case QAbstractItemView():
            yield from _of_model(widget.model(), QModelIndex())
    for action in widget.findChildren(QAction):
        yield action.text()


def _of_model(model: QAbstractItemModel | None, parent: QModelIndex) -> Iterator[str]:
    if model is None or isinstance(model, QAbstractListModel):  # what users call their chats
        return
    for column in range(model.columnCount(parent)):
        yield str(model.headerData(column, Qt.Orientation.Horizontal) or "")
        for row in range(model.rowCount(parent)):
            index = model.index(row, column, parent)
            yield str(index.data() or "")
            yield str(index.data(Qt.ItemDataRole.ToolTipRole) or "")
            yield from _of_model(model, index)


def all_texts(window: QWidget) -> set[str]:
    """Everything that the window says or could say at this moment, also what is hidden."""
    return {text for widget in window.findChildren(QWidget) for text in _of_widget(widget) if text}


def shown_texts(window: QWidget) -> list[str]:
    """What can be read on all pages."""
    widgets = [w for page in pages(window) for w in page.findChildren(QWidget)]
    said = [w for w in widgets if isinstance(w, QLabel | QAbstractButton) and _can_be_seen(w)]
    return sorted(f"{type(w).__name__}: {w.text()}" for w in said if w.text())


def pages(window: QWidget) -> list[QWidget]:
    return [w for w in window.findChildren(QWidget) if w.objectName() == "page"]


def _can_be_seen(widget: QWidget) -> bool:
    page = widget
    while page is not None and page.objectName() != "page":
        page = page.parentWidget()
    return page is not None and widget.isVisibleTo(page)


def differences(before: list[str], after: list[str]) -> str:
    return "\n".join(line for line in ndiff(before, after) if line[0] in "+-")


def _pattern(texts: Iterable[str]) -> re.Pattern[str]:
    """Matches each of them with any values in its places, where enough is left beside those."""
    chosen = {text for text in texts if len(re.sub(r"{\w*}|\W", "", text)) > 2}
    parts = (re.sub(r"\\{\w*\\}", ".+", re.escape(text)) for text in chosen)
    return re.compile("|".join(sorted(parts)), re.DOTALL)


@pytest.fixture(scope="module")
def patterns() -> dict[str, re.Pattern[str]]:
    """What tells the texts of each language."""
    messages = list(ET.parse(CATALOGUE).getroot().iter("message"))
    pairs = [(m.findtext("source") or "", m.findtext("translation") or "") for m in messages]
    pairs = [(source, translation) for source, translation in pairs if source != translation]
    return {"en": _pattern(s for s, _ in pairs), "zh_CN": _pattern(t for _, t in pairs)}


def left_behind(window: QWidget, pattern: re.Pattern[str]) -> str:
    said = (text for text in all_texts(window) if not OF_SCENES.fullmatch(text))
    return "\n".join(sorted(text for text in said if pattern.fullmatch(text)))


@pytest.fixture
def quiet(program: Program) -> Iterator[Program]:
    """The real window; nothing that is asked for reaches a process."""
    program.settings.update(language="en")
    program.window.settings_page.refresh()
    with quiet_workers():
        yield program


def conversation(program: Program) -> None:
    made = program.store.create_conversation("Sky")
    for role, text in (("user", "Why is the sky blue?"), ("assistant", "Rayleigh.\n\n    code")):
        program.store.append_turn(made.conversation_id, role, text)
    program.controllers.chat.open_conversation(made.conversation_id)
    program.window.chat_page.composer.set_text("And at night?")


Scene = Callable[[Program], None]
# Each begins where the one before it ended.
SCENES: tuple[tuple[Scene, ...], ...] = (
    (chat_first_run, convert_planned, validate_running, download_results, server_busy),
    (chat_ready, convert_running, validate_finished, download_repository, library_items),
    (conversation, convert_finished, download_running, server_failed, library_verifying),
    (banners, convert_failed, validate_failed, download_failed, library_failed),
)


def test_each_state_speaks_the_other_language_and_comes_back_as_it_was(
    quiet: Program, patterns: dict[str, re.Pattern[str]]
) -> None:
    for scenes in SCENES:
        for scene in scenes:
            scene(quiet)
        QApplication.processEvents()
        before = shown_texts(quiet.window)
        switch(quiet, "zh_CN")
        assert left_behind(quiet.window, patterns["en"]) == ""
        assert left_behind(quiet.window, patterns["zh_CN"]) != ""
        switch(quiet, "en")
        assert left_behind(quiet.window, patterns["zh_CN"]) == ""
        assert differences(before, shown_texts(quiet.window)) == ""


def test_what_is_written_searched_and_looked_at_stays(quiet: Program, tmp_path: Path) -> None:
    conversation(quiet)
    window, page = quiet.window, quiet.window.chat_page
    window.resize(1333, 777)
    window.show_page(window.settings_page)
    cursor = page.composer.edit.textCursor()
    cursor.setPosition(4)
    page.composer.edit.setTextCursor(cursor)
    page.composer.files.add(Attachment("notes.md", "text"))
    page.conversations.search_field.setText("Sk")
    page.transcript.cards[0].begin_editing("Why is the sea blue?")
    page.toggle_panel()
    window.validate_page.field.edit.setText("org/na")
    window.settings_page.show_topic(Topic.REPLIES)

    switch(quiet, "zh_CN")

    assert window.focusWidget() is window.settings_page.rows["language"].control
    assert window.tray.quit_action.text() == "退出"
    page = window.chat_page
    assert (window.width(), window.height()) == (1333, 777)
    assert window.desk.current_page is window.settings_page
    assert window.settings_page.cards[Topic.REPLIES].isVisible()
    assert page.composer.edit.toPlainText() == "And at night?"
    assert page.composer.edit.textCursor().position() == 4
    assert [a.name for a in page.composer.files.attachments] == ["notes.md"]
    assert page.conversations.query == "Sk"
    assert [card.text for card in page.transcript.cards] == [
        "Why is the sky blue?",
        "Rayleigh.\n\n    code",
    ]
    assert page.transcript.cards[0].draft == "Why is the sea blue?"
    window.show_page(page)
    assert not page.panel.isVisible()
    assert window.validate_page.field.edit.text() == "org/na"


def test_a_running_reply_goes_on_in_the_new_page(qtbot: QtBot, quiet: Program) -> None:
    chat_ready(quiet)
    chat = quiet.controllers.chat
    chat.send("Tell me a story.")
    say(quiet, "Once ")
    qtbot.waitUntil(lambda: chat.reply_text == "Once ", timeout=20_000)
    say(quiet, "upon ")
    switch(quiet, "zh_CN")
    say(quiet, "a time")
    card = quiet.window.chat_page.transcript.cards[-1]
    assert isinstance(card, ReplyCard)
    qtbot.waitUntil(lambda: card.text == "Once upon a time", timeout=20_000)
    assert quiet.window.chat_page.composer.stop_button.isVisibleTo(quiet.window.chat_page)


def say(program: Program, text: str) -> None:
    chat = program.controllers.chat
    assert chat.replies.running is not None
    event = TokensGenerated(chat.replies.running.request_id, (1,), text)
    chat.engine.event_received.emit(event)


def test_switching_leaves_nothing_behind(quiet: Program) -> None:
    """Neither objects nor connections: a page that is gone must not be told anything."""
    conversation(quiet)
    switch(quiet, "zh_CN")
    switch(quiet, "en")
    before = counts(quiet)
    for language in ("zh_CN", "en") * 3:
        switch(quiet, language)
    assert counts(quiet) == before


def counts(program: Program) -> dict[str, int]:
    gc.collect()
    found = {"objects": sum(issubclass(type(one), QObject) for one in gc.get_objects())}
    found["widgets"] = len(QApplication.allWidgets())
    for field in fields(program.controllers):
        controller = getattr(program.controllers, field.name)
        found[field.name] = sum(map(controller.receivers, signals(controller)))
    return found


def signals(one: QObject) -> Iterator[str]:
    """As `receivers` wants them."""
    meta = one.metaObject()
    for method in (meta.method(index) for index in range(meta.methodCount())):
        if method.methodType() is QMetaMethod.MethodType.Signal:
            yield f"2{method.methodSignature().data().decode()}"
