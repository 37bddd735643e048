"""A code block: its language, a copy button and coloured, unwrapped code as tall as it is long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import groupby
from math import ceil

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QResizeEvent, QSyntaxHighlighter, QTextCharFormat, QWheelEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.ui.highlight import Span, find_spans
from app.ui.idle_work import IdleWork
from app.ui.theme import current_tokens, mono_font, set_role, ui_font
from app.ui.widgets.copy_button import CopyButton

# What streams is coloured anew from its start, which may take a tenth of the thread's time; its end
# always colours it all. 20 lines take about 2 ms.
_REST_FACTOR = 9
_LINES_A_STEP = 20
_STEPS_AT_ONCE = 4


class _SpanHighlighter(QSyntaxHighlighter):
    """Paints the spans that were found for each line."""

    def __init__(self, edit: QPlainTextEdit) -> None:
        super().__init__(edit.document())
        self._by_line: dict[int, list[Span]] = {}

    def set_spans(self, line: int, spans: list[Span]) -> None:
        """Those of one line, which is painted again only if they are others."""
        if self._by_line.get(line, []) != spans:
            self._by_line[line] = spans
            self.rehighlightBlock(self.document().findBlockByNumber(line))

    def highlightBlock(self, text: str) -> None:
        tokens = current_tokens()
        for span in self._by_line.get(self.currentBlock().blockNumber(), ()):
            style = QTextCharFormat()
            style.setForeground(QColor(getattr(tokens, span.kind)))
            self.setFormat(span.column, span.length, style)


class _CodeEdit(QPlainTextEdit):
    """Shows all lines at once; only wide code scrolls, sideways."""

    def __init__(self) -> None:
        super().__init__()
        self._num_measured, self._measured = 0, 0.0  # lines, and their height
        self.setReadOnly(True)
        self.setAcceptDrops(False)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setFont(mono_font())
        self.document().setDocumentMargin(2)
        set_role(self, "code", True)

    def fit(self) -> None:
        """As tall as the lines, plus the scroll bar where it shows."""
        bar = self.horizontalScrollBar()
        bar_height = bar.sizeHint().height() if bar.maximum() > 0 else 0
        self.setFixedHeight(ceil(self._lines_height()) + bar_height + 4)

    def show_code(self, code: str) -> None:
        """Other code than before."""
        self._num_measured, self._measured = 0, 0.0
        self.setPlainText(code)

    def _lines_height(self) -> float:
        """As they are laid out: each a fraction of a pixel taller than the font says, and taller
        still where another font's letters stand. All but the last are measured once."""
        layout = self.document().documentLayout()
        block = self.document().findBlockByNumber(self._num_measured)
        while block.next().isValid():
            self._measured += layout.blockBoundingRect(block).height()
            self._num_measured += 1
            block = block.next()
        last = layout.blockBoundingRect(block).height()
        return self._measured + last + 2 * self.document().documentMargin()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:  # also when it is first shown
            self._num_measured, self._measured = 0, 0.0
            self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.angleDelta().x() and not event.angleDelta().y():
            super().wheelEvent(event)
        else:
            event.ignore()


class CodeSegment(QWidget):
    """One fenced block; `set_code` may be called at every repaint of a stream."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._code = ""
        self._language = ""
        self._work = IdleWork(self)
        self._rests_until_s = 0.0
        self._label = QLabel(self)
        self._label.setFont(ui_font(0.86))
        set_role(self._label, "tone", "muted")
        self.edit = _CodeEdit()
        self.edit.setAccessibleName(self.tr("Code"))
        self.copy_button = CopyButton(lambda: self._code, self.tr("Copy code"), size=16)
        self._highlighter = _SpanHighlighter(self.edit)
        self._build()

    @property
    def code(self) -> str:
        """The code, as it is copied."""
        return self._code

    def set_code(self, code: str, language: str, *, is_closed: bool) -> None:
        """Shows the code so far; the end of the block colours it for good."""
        if code.startswith(self._code) and self._code:
            self._append(code[len(self._code) :])
        elif code != self._code:
            self.edit.show_code(code)
        self._code, self._language = code, language
        self._label.setText(language or self.tr("text"))
        self.edit.setAccessibleName(self.tr("Code, {language}").format(language=self._label.text()))
        if is_closed or (not self._work.is_running and time.monotonic() > self._rests_until_s):
            self._work.start(self._colour())
            for _ in range(_STEPS_AT_ONCE):
                self._work.step()
        self.edit.fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._highlighter.rehighlight()

    def _append(self, text: str) -> None:
        if text:
            cursor = self.edit.textCursor()
            cursor.movePosition(cursor.MoveOperation.End)
            cursor.insertText(text)

    def _colour(self) -> Iterator[None]:
        """Line by line, a few in each step."""
        cost_s, started_s = 0.0, time.perf_counter()
        for line, spans in enumerate(_spans_by_line(self._code, self._language), 1):
            self._highlighter.set_spans(line - 1, spans)
            if line % _LINES_A_STEP == 0:
                cost_s += time.perf_counter() - started_s
                yield
                started_s = time.perf_counter()
        cost_s += time.perf_counter() - started_s
        self._rests_until_s = time.monotonic() + _REST_FACTOR * cost_s

    def _build(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(12, 4, 6, 0)
        head.addWidget(self._label)
        head.addStretch()
        head.addWidget(self.copy_button)
        body = QHBoxLayout()
        body.setContentsMargins(10, 0, 10, 0)
        body.addWidget(self.edit)
        frame = QFrame()
        set_role(frame, "code", True)
        rows = QVBoxLayout(frame)
        rows.setContentsMargins(0, 0, 0, 6)
        rows.setSpacing(2)
        rows.addLayout(head)
        rows.addLayout(body)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 11)
        layout.addWidget(frame)


def _spans_by_line(code: str, language: str) -> Iterator[list[Span]]:
    """Those of every line, many of which have none."""
    next_line = 0
    for line, spans in groupby(find_spans(code, language), key=lambda span: span.line):
        yield from ([] for _ in range(next_line, line))
        yield list(spans)
        next_line = line + 1
    yield from ([] for _ in range(next_line, code.count("\n") + 1))
