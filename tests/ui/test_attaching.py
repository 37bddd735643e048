"""Files at the composer: attached, removed, sent, and shown with the message."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QPlainTextEdit
from pytestqt.qtbot import QtBot

from app.chat.attachments import Attachment
from app.gui import Program
from app.ui.dialogs.details_dialog import DetailsDialog
from app.ui.widgets.attachment_bar import AttachmentBar
from app.ui.widgets.composer import Composer
from app.ui.widgets.user_card import UserCard
from tests.ui.window_support import TIMEOUT_MS, drag_over, drop_on


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "笔记 notes.md"
    path.write_text("# Notes\n", encoding="utf-8")
    return path


def composer_of(program: Program) -> Composer:
    return program.window.chat_page.composer


def test_text_dropped_on_the_chat_is_attached(qtbot: QtBot, program: Program, notes: Path) -> None:
    window = program.window
    drag_over(window, [notes])
    assert window.overlay.accessibleName() == "Drop to attach 笔记 notes.md"
    drop_on(window, [notes])
    files = composer_of(program).files
    qtbot.waitUntil(lambda: bool(files.attachments), timeout=TIMEOUT_MS)
    assert files.attachments == (Attachment("笔记 notes.md", "# Notes"),)


def test_what_may_be_a_model_is_converted_and_elsewhere_everything_is(
    program: Program, notes: Path, tmp_path: Path
) -> None:
    window = program.window
    drag_over(window, [tmp_path / "x.gguf"])
    assert "convert x.gguf" in window.overlay.accessibleName()
    drag_over(window, [notes, tmp_path / "x.GGUF"])
    assert "convert 2 items" in window.overlay.accessibleName()
    window.show_page(window.convert_page)
    drag_over(window, [notes])
    assert "convert" in window.overlay.accessibleName()


def test_a_file_that_cannot_be_attached_says_why_and_the_next_is_read(
    qtbot: QtBot, program: Program, notes: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\0")
    page = program.window.chat_page
    with qtbot.waitSignal(page.attacher.failed, timeout=TIMEOUT_MS) as blocker:
        page.attacher.attach([picture, tmp_path / "gone.txt", notes])
    assert "picture.png is no text file" in blocker.args[0].message
    qtbot.waitUntil(lambda: len(page.composer.files.attachments) == 1, timeout=TIMEOUT_MS)


def test_a_file_alone_can_be_sent_and_goes_with_the_message(qtbot: QtBot) -> None:
    composer = Composer()
    qtbot.addWidget(composer)
    composer.show()
    composer.set_state(can_send=True, is_running=False, placeholder="")
    assert not composer.send_button.isEnabled()
    composer.files.add(Attachment("a.txt", "text"))
    assert composer.files.isVisible()
    with qtbot.waitSignal(composer.submitted) as blocker:
        composer.send_button.click()
    assert blocker.args == [""]
    composer.clear()
    assert (composer.files.attachments, composer.files.isVisible()) == ((), False)


def test_a_file_can_be_looked_at_and_removed(qtbot: QtBot) -> None:
    bar = AttachmentBar(can_remove=True)
    qtbot.addWidget(bar)
    bar.show_attachments([Attachment("a.txt", "the text"), Attachment("b" * 80 + ".txt", "x")])
    first, second = bar.chips
    assert len(second.open_button.text()) < 40
    assert second.open_button.text().endswith("b.txt")
    first.open_button.click()
    dialog = next(w for w in QApplication.topLevelWidgets() if isinstance(w, DetailsDialog))
    text = dialog.findChild(QPlainTextEdit)
    assert text is not None
    assert text.toPlainText() == "the text"
    dialog.close()
    with qtbot.waitSignal(bar.changed):
        first.remove_button.click()
    assert [attachment.name for attachment in bar.attachments] == ["b" * 80 + ".txt"]


def test_the_message_shows_its_files(program: Program) -> None:
    store = program.store
    conversation_id = store.create_conversation("files").conversation_id
    files = [Attachment("a.txt", "one")]
    store.append_turn(conversation_id, "user", "", files)
    program.controllers.chat.open_conversation(conversation_id)
    (card,) = program.window.chat_page.transcript.cards
    assert isinstance(card, UserCard)
    assert card.files.attachments == tuple(files)
    assert not card.files.chips[0].remove_button.isVisibleTo(card)


def test_the_files_of_a_message_end_where_it_ends(program: Program, qtbot: QtBot) -> None:
    store = program.store
    conversation_id = store.create_conversation("files").conversation_id
    files = [Attachment(f"{name}.txt", "x") for name in ("a", "b", "long" * 6, "name" * 6)]
    store.append_turn(conversation_id, "user", "Compare them. " * 40, files)
    program.window.resize(1024, 640)
    program.controllers.chat.open_conversation(conversation_id)
    (card,) = program.window.chat_page.transcript.cards
    assert isinstance(card, UserCard)

    def ends() -> set[int]:
        last: dict[int, int] = {}
        for chip in card.files.chips:
            place = chip.mapTo(card, chip.rect().topRight())
            last[place.y()] = max(last.get(place.y(), 0), place.x())
        return {*last.values(), card._bubble.geometry().right()}

    qtbot.waitUntil(lambda: card.width() > 0 and len(ends()) == 1, timeout=TIMEOUT_MS)
    assert len({chip.y() for chip in card.files.chips}) > 1
