"""Markdown into a growing QTextDocument: only its last block is ever drawn again.

Qt reads the Markdown (GitHub dialect, raw HTML shown as text); this file copies the result block by
block, because `insertFragment` loses the first block's format and leaves empty lines around lists
and tables.
"""

from __future__ import annotations

from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrame,
    QTextFrameFormat,
    QTextLength,
    QTextList,
    QTextTable,
    QTextTableFormat,
)

from app.ui.math_markdown import with_readable_math
from app.ui.theme import MONO_FAMILIES, Tokens

_FEATURES = (
    QTextDocument.MarkdownFeature.MarkdownDialectGitHub
    | QTextDocument.MarkdownFeature.MarkdownNoHTML
)
_LINE_HEIGHT_PERCENT = 132.0
_PARAGRAPH_GAP = 9.0
_ITEM_GAP = 3.0
_HEADING_SCALE = {1: 1.5, 2: 1.3, 3: 1.15}


class MarkdownWriter:
    """Writes into `document`; from `_tail_start` on stands the block that may still change."""

    def __init__(self, document: QTextDocument, tokens: Tokens) -> None:
        self._document = document
        self._tokens = tokens
        self._tail_start = 0
        self._is_empty = True
        self._lists: dict[int, QTextList] = {}
        self._closed_list: QTextList | None = None
        self._tail_list: QTextList | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all has been written."""
        return self._is_empty

    def replace_tail(self, markdown: str, *, continues_list: bool = False) -> None:
        """Draws the last block anew; its first list may go on with that of the block before."""
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        self._remove_tail(cursor)
        self._lists = {}
        self._tail_list = self._closed_list if continues_list else None
        if markdown.strip():
            self._write(cursor, markdown)
        if not self._lists:
            self._tail_list = None
        cursor.endEditBlock()

    def close_tail(self) -> None:
        """The last block is finished; the next one comes after it."""
        self._tail_start = self._document.characterCount() - 1
        self._closed_list = self._tail_list

    def _remove_tail(self, cursor: QTextCursor) -> None:
        cursor.setPosition(self._tail_start)
        before = cursor.blockFormat()
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        self._is_empty = self._tail_start == 0
        if not self._is_empty:
            cursor.setBlockFormat(before)  # Qt lets an empty block, such as a rule, take the tail's

    def _write(self, cursor: QTextCursor, markdown: str) -> None:
        source = QTextDocument()
        source.setDefaultFont(self._document.defaultFont())
        source.setMarkdown(with_readable_math(markdown), _FEATURES)
        self._copy_frame(cursor, source.rootFrame())

    def _copy_frame(self, cursor: QTextCursor, frame: QTextFrame) -> None:
        iterator = frame.begin()
        while not iterator.atEnd():
            child = iterator.currentFrame()
            if isinstance(child, QTextTable):
                self._copy_table(cursor, child)
            elif iterator.currentBlock().isValid():
                self._copy_block(cursor, iterator.currentBlock())
            iterator += 1

    def _copy_block(self, cursor: QTextCursor, block: QTextBlock) -> None:
        if not block.text() and not _is_rule(block) and _list_of(block) is None:
            return  # Qt's own spacer around tables; the gaps here are margins
        if self._is_empty:
            cursor.setBlockFormat(self._block_format(block))
            cursor.setBlockCharFormat(QTextCharFormat())
        else:
            cursor.insertBlock(self._block_format(block), QTextCharFormat())
        self._is_empty = False
        self._join_list(cursor, block)
        self._copy_runs(cursor, block)

    def _join_list(self, cursor: QTextCursor, block: QTextBlock) -> None:
        source = _list_of(block)
        if source is None:
            return
        key = source.objectIndex()
        if not self._lists and self._tail_list is not None:
            self._lists[key] = self._tail_list
        if key in self._lists:
            self._lists[key].add(cursor.block())
            return
        self._lists[key] = cursor.createList(source.format())
        self._tail_list = self._tail_list or self._lists[key]

    def _copy_runs(self, cursor: QTextCursor, block: QTextBlock) -> None:
        iterator = block.begin()
        while not iterator.atEnd():
            fragment = iterator.fragment()
            style = self._char_format(fragment.charFormat(), block)
            cursor.insertText(_visible_text(fragment.text(), fragment.charFormat()), style)
            iterator += 1

    def _copy_table(self, cursor: QTextCursor, table: QTextTable) -> None:
        target = cursor.insertTable(table.rows(), table.columns(), self._table_format())
        self._is_empty = False
        for row in range(table.rows()):
            for column in range(table.columns()):
                self._copy_cell(table, target, row, column)
        cursor.movePosition(QTextCursor.MoveOperation.End)

    def _copy_cell(self, table: QTextTable, target: QTextTable, row: int, column: int) -> None:
        source = table.cellAt(row, column)
        cell = target.cellAt(row, column)
        if row == 0:
            style = cell.format()
            style.setBackground(QColor(self._tokens.sunken))
            cell.setFormat(style)
        block = source.firstCursorPosition().block()
        cursor = cell.firstCursorPosition()
        alignment = QTextBlockFormat()
        alignment.setAlignment(block.blockFormat().alignment())
        cursor.setBlockFormat(alignment)
        self._copy_runs(cursor, block)

    def _block_format(self, block: QTextBlock) -> QTextBlockFormat:
        style = QTextBlockFormat(block.blockFormat())
        is_item = _list_of(block) is not None
        is_code = style.nonBreakableLines()
        gap = 0.0 if is_code else _ITEM_GAP if is_item else _PARAGRAPH_GAP
        style.setTopMargin(self._top_margin(style, is_item=is_item))
        style.setBottomMargin(gap)
        style.setLineHeight(
            _LINE_HEIGHT_PERCENT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value
        )
        if is_code:
            style.setBackground(QColor(self._tokens.sunken))
        if style.hasProperty(QTextFormat.Property.BlockQuoteLevel):
            style.setLeftMargin(20.0 * style.intProperty(QTextFormat.Property.BlockQuoteLevel))
        return style

    def _top_margin(self, style: QTextBlockFormat, *, is_item: bool) -> float:
        if self._is_empty:
            return 0.0
        if style.headingLevel():
            return _PARAGRAPH_GAP
        follows_item = _list_of(self._document.lastBlock()) is not None
        return _PARAGRAPH_GAP - _ITEM_GAP if follows_item and not is_item else 0.0

    def _char_format(self, source: QTextCharFormat, block: QTextBlock) -> QTextCharFormat:
        style = QTextCharFormat(source)
        style.clearProperty(QTextFormat.Property.FontSizeAdjustment)
        if level := block.blockFormat().headingLevel():
            style.setFontPointSize(
                self._document.defaultFont().pointSizeF() * _HEADING_SCALE.get(level, 1.0)
            )
            style.setFontWeight(QFont.Weight.DemiBold)
        if source.fontFixedPitch() or "monospace" in (source.fontFamilies() or []):
            self._style_code(style)
        if source.isAnchor():
            style.setForeground(QColor(self._tokens.accent))
        if block.blockFormat().hasProperty(QTextFormat.Property.BlockQuoteLevel):
            style.setForeground(QColor(self._tokens.muted))
        return style

    def _style_code(self, style: QTextCharFormat) -> None:
        style.setFontFamilies(list(MONO_FAMILIES))
        style.setFontPointSize(self._document.defaultFont().pointSizeF() * 0.94)
        style.setBackground(QColor(self._tokens.sunken))

    def _table_format(self) -> QTextTableFormat:
        style = QTextTableFormat()
        style.setBorder(1.0)
        style.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        style.setBorderBrush(QBrush(QColor(self._tokens.border)))
        style.setBorderCollapse(True)
        style.setCellSpacing(0.0)
        style.setCellPadding(7.0)
        style.setTopMargin(4.0)
        style.setBottomMargin(_PARAGRAPH_GAP)
        style.setHeaderRowCount(1)
        style.setWidth(QTextLength())
        return style


def _list_of(block: QTextBlock) -> QTextList | None:
    return block.textList()


def _is_rule(block: QTextBlock) -> bool:
    return block.blockFormat().hasProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth)


def _visible_text(text: str, style: QTextCharFormat) -> str:
    """A picture's address instead of the picture: a reply must not make the window load one."""
    return f"[{style.toImageFormat().name()}]" if style.isImageFormat() else text
