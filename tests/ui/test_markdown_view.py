"""A streaming reply: drawn in segments, cheap to the end, redrawn when the theme changes."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QPlainTextEdit
from pytestqt.qtbot import QtBot

from app.ui.rich_text import MarkdownWriter
from app.ui.theme import DARK, LIGHT, Theme, ThemeMode
from app.ui.widgets.code_segment import CodeSegment
from app.ui.widgets.markdown_view import MarkdownView
from app.ui.widgets.text_segment import TextSegment

REPLY = "# Title\n\nSome *text*.\n\n```python\ndef f():\n    return 1\n```\n\nThe end."


@pytest.fixture
def view(qtbot: QtBot) -> MarkdownView:
    widget = MarkdownView()
    qtbot.addWidget(widget)
    widget.resize(600, 400)
    widget.show()
    return widget


def segments(view: MarkdownView) -> list[tuple[str, str]]:
    shown = []
    for index in range(view.layout().count()):
        widget = view.layout().itemAt(index).widget()
        if isinstance(widget, CodeSegment):
            shown.append(("code", widget.code))
        elif isinstance(widget, TextSegment) and not widget.isHidden():
            shown.append(("text", widget.toPlainText()))
    return shown


EXPECTED = [
    ("text", "Title\nSome text."),
    ("code", "def f():\n    return 1"),
    ("text", "The end."),
]


def test_whole_text(view: MarkdownView) -> None:
    view.set_text(REPLY)
    assert segments(view) == EXPECTED


@pytest.mark.parametrize("size", [1, 3, 17])
def test_streamed_text_ends_the_same(view: MarkdownView, size: int) -> None:
    for start in range(0, len(REPLY), size):
        view.append(REPLY[start : start + size])
        view.flush()
    view.finish()
    assert segments(view) == EXPECTED
    assert view.text == REPLY


def test_text_is_drawn_within_an_interval(qtbot: QtBot, view: MarkdownView) -> None:
    view.append("hello")
    assert segments(view) == []
    qtbot.waitUntil(lambda: segments(view) == [("text", "hello")], timeout=10_000)


def test_long_replies_draw_their_last_block_only(
    view: MarkdownView, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    original = MarkdownWriter.replace_tail

    def replace_tail(writer: MarkdownWriter, markdown: str, *, continues_list: bool) -> None:
        drawn.append(len(markdown))
        original(writer, markdown, continues_list=continues_list)

    monkeypatch.setattr(MarkdownWriter, "replace_tail", replace_tail)
    paragraph = "Thirty words of text that stand for a paragraph of the reply. " * 3
    for _ in range(60):
        view.append(paragraph + "\n\n")
        view.flush()
    assert len(view.text) > 10_000
    assert max(drawn) <= 2 * len(paragraph)


def test_code_is_coloured_when_it_is_complete(view: MarkdownView) -> None:
    view.set_text(REPLY)
    code = view.findChild(CodeSegment)
    block = code.edit.document().firstBlock()
    assert [(f.start, f.length) for f in block.layout().formats()][:2] == [(0, 3), (4, 1)]


def test_unfinished_code_is_coloured_at_the_end(view: MarkdownView) -> None:
    view.append("```python\ndef f")
    view.finish()
    code = view.findChild(CodeSegment)
    assert code.code == "def f"
    assert code.edit.document().firstBlock().layout().formats()


def test_height_follows_the_content(qtbot: QtBot, view: MarkdownView) -> None:
    view.set_text("one line")
    low = view.sizeHint().height()
    view.set_text("\n\n".join("paragraph" for _ in range(20)))
    assert view.sizeHint().height() > 10 * low


def test_wide_code_scrolls_sideways(qtbot: QtBot, view: MarkdownView) -> None:
    view.set_text("```\n" + "x" * 400 + "\n```")
    edit = view.findChild(CodeSegment).edit
    qtbot.waitUntil(lambda: edit.horizontalScrollBar().maximum() > 0, timeout=10_000)
    assert edit.verticalScrollBar().maximum() == 0


def line_is_seen(edit: QPlainTextEdit, number: int) -> bool:
    block = edit.document().findBlockByNumber(number)
    cursor = QTextCursor(block)
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
    return edit.viewport().rect().contains(edit.cursorRect(cursor))


@pytest.mark.parametrize("percent", [80, 100, 130, 200])
def test_no_line_of_code_is_cut_off(view: MarkdownView, qapp: QApplication, percent: int) -> None:
    """Each is a fraction of a pixel taller than its font says, one with Chinese letters more."""
    Theme(qapp, ThemeMode.LIGHT, percent)
    view.append("```python\n")
    for number in range(60):
        view.append(f"x{number} = {number}  # 第{number}行\n")
        view.flush()
    view.append("```\n")
    view.finish()
    qapp.processEvents()
    edit = view.findChild(CodeSegment).edit
    assert line_is_seen(edit, 0)
    assert line_is_seen(edit, 59)
    assert edit.verticalScrollBar().maximum() == 0
    lines_px = edit.cursorRect().height() * 60
    assert edit.height() < lines_px * 1.25


def test_code_is_copied_whole(qtbot: QtBot, view: MarkdownView) -> None:
    view.set_text(REPLY)
    view.findChild(CodeSegment).copy_button.click()
    assert QApplication.clipboard().text() == "def f():\n    return 1"


def test_theme_change_redraws(view: MarkdownView, qapp: QApplication) -> None:
    theme = Theme(qapp, ThemeMode.LIGHT)
    view.set_text("`code`")
    assert _code_ground(view) == LIGHT.sunken
    theme.set_mode(ThemeMode.DARK)
    assert _code_ground(view) == DARK.sunken
    assert segments(view) == [("text", "code")]


def _code_ground(view: MarkdownView) -> str:
    last = view.layout().itemAt(view.layout().count() - 1).widget()
    return last.document().firstBlock().begin().fragment().charFormat().background().color().name()
