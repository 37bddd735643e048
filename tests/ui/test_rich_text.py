"""Markdown in a document: all of it arrives, and only the last block is ever written anew."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QFont, QTextDocument, QTextTable

from app.ui.markdown_blocks import split_blocks
from app.ui.rich_text import MarkdownWriter
from app.ui.theme import LIGHT

SAMPLE = """# Head

Some *text* with `code` and a [link](https://example.org).

- a
- b
  - nested
- c

1. one

2. two

| h | n |
|---|--:|
| x | 1 |

> quoted

---

last"""


@pytest.fixture
def document(qapp: object) -> QTextDocument:
    return QTextDocument()


def write(document: QTextDocument, text: str) -> MarkdownWriter:
    writer = MarkdownWriter(document, LIGHT)
    for block in split_blocks(text):
        writer.replace_tail(block.text, continues_list=block.continues_list)
        writer.close_tail()
    return writer


def test_all_of_it_arrives(document: QTextDocument) -> None:
    write(document, SAMPLE)
    words = "Head Some text with code and a link. a b nested c one two h n x 1 quoted last"
    assert " ".join(document.toPlainText().split()) == words


def test_structure_survives(document: QTextDocument) -> None:
    write(document, SAMPLE)
    markdown = document.toMarkdown()
    for expected in (
        "# Head",
        "*text*",
        "`code`",
        "[link](https://example.org)",
        "  - nested",
        "1.",
        "2.",
    ):
        assert expected in markdown
    tables = [f for f in document.rootFrame().childFrames() if isinstance(f, QTextTable)]
    assert [(table.rows(), table.columns()) for table in tables] == [(2, 2)]


def test_no_empty_lines_between_blocks(document: QTextDocument) -> None:
    write(document, "one\n\n- a\n- b\n\ntwo")
    assert document.toPlainText() == "one\na\nb\ntwo"


def test_streaming_ends_where_writing_at_once_does(document: QTextDocument) -> None:
    streamed = QTextDocument()
    writer = MarkdownWriter(streamed, LIGHT)
    for block in split_blocks(SAMPLE):
        for end in range(len(block.text)):
            writer.replace_tail(block.text[:end], continues_list=block.continues_list)
        writer.replace_tail(block.text, continues_list=block.continues_list)
        writer.close_tail()
    write(document, SAMPLE)
    assert streamed.toHtml() == document.toHtml()


def test_items_are_counted_on_from_block_to_block(document: QTextDocument) -> None:
    write(document, "3. a\n4. b\n\n5. c\n   - d\n6. e\n\ntext\n\n1. f")
    labels = []
    block = document.firstBlock()
    while block.isValid():
        texts = block.textList()
        labels.append(f"{texts.itemText(block) if texts else ''}{block.text()}")
        block = block.next()
    assert labels == ["3.a", "4.b", "5.c", ".d", "6.e", "text", "1.f"]


def test_closed_blocks_are_not_written_again(document: QTextDocument) -> None:
    writer = write(document, "first\n\nsecond")
    first = document.firstBlock()
    revision = first.revision()
    for count in range(50):
        writer.replace_tail("word " * count)
    assert document.firstBlock().revision() == revision
    assert document.firstBlock().text() == "first"


def test_tail_can_vanish(document: QTextDocument) -> None:
    writer = MarkdownWriter(document, LIGHT)
    writer.replace_tail("``")
    writer.replace_tail("")
    assert writer.is_empty
    assert document.isEmpty()


def test_html_is_text_and_pictures_are_not_loaded(document: QTextDocument) -> None:
    write(document, 'a <script>x</script> <b>b</b> ![alt](file:///etc/passwd "t")')
    assert "<script>" in document.toPlainText()
    assert "[file:///etc/passwd]" in document.toPlainText()
    assert "<img" not in document.toHtml()


def test_headings_are_larger_and_bold(document: QTextDocument) -> None:
    write(document, "# Head\n\ntext")
    head = document.firstBlock().begin().fragment().charFormat()
    assert head.fontWeight() == QFont.Weight.DemiBold
    assert head.fontPointSize() > document.defaultFont().pointSizeF()


def test_inline_code_has_its_own_ground(document: QTextDocument) -> None:
    write(document, "`x`")
    style = document.firstBlock().begin().fragment().charFormat()
    assert style.background().color().name() == LIGHT.sunken


def test_chinese_is_kept(document: QTextDocument) -> None:
    write(document, "中文，好。\n\n- 一\n- 二")
    assert document.toPlainText() == "中文，好。\n一\n二"
