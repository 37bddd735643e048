"""A reply as Markdown: text segments and code blocks one below the other, drawn as they stream."""

from __future__ import annotations

import time

from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.ui.markdown_blocks import Block, BlockSplitter
from app.ui.rich_text import MarkdownWriter
from app.ui.theme import current_tokens
from app.ui.widgets.code_segment import CodeSegment
from app.ui.widgets.text_segment import TextSegment

# 30 repaints a second; a block that has become expensive gets at most a quarter of the thread.
_REPAINT_MS = 33
_COST_FACTOR = 3


class _Prose:
    """A text segment and what writes into it."""

    def __init__(self, parent: QWidget) -> None:
        self.widget = TextSegment(parent)
        self.writer = MarkdownWriter(self.widget.document(), current_tokens())

    def draw(self, block: Block) -> None:
        self.writer.replace_tail(block.text)
        if block.is_closed:
            self.writer.close_tail()
        self.widget.setVisible(not self.writer.is_empty)


class _Code:
    """A code block."""

    def __init__(self, parent: QWidget) -> None:
        self.widget = CodeSegment(parent)
        self.is_closed = False

    def draw(self, block: Block) -> None:
        self.widget.set_code(block.text, block.language, is_closed=block.is_closed)
        self.is_closed = block.is_closed


class MarkdownView(QWidget):
    """Only the last block is drawn again when text arrives; `text` is always the whole Markdown."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._pending = ""
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.flush)
        self._segments: list[_Prose | _Code] = []
        self._splitter = BlockSplitter()
        self._num_drawn = 0
        self._last_cost_ms = 0.0
        self._tokens = current_tokens()

    @property
    def text(self) -> str:
        """The Markdown so far, drawn or about to be."""
        return self._text

    def set_text(self, text: str) -> None:
        """Replaces everything at once."""
        self._clear_segments()
        self._tokens = current_tokens()
        self._text = self._pending = text
        self.finish()

    def append(self, text: str) -> None:
        """Adds text; it is drawn within one repaint interval."""
        self._text += text
        self._pending += text
        if not self._timer.isActive():
            self._timer.start(max(_REPAINT_MS, round(self._last_cost_ms * _COST_FACTOR)))

    def flush(self) -> None:
        """Draws what is pending."""
        started = time.perf_counter()
        self._splitter.feed(self._pending)
        self._pending = ""
        blocks = self._splitter.blocks
        self._draw(blocks[self._num_drawn :])
        self._num_drawn = self._splitter.num_closed
        self._last_cost_ms = (time.perf_counter() - started) * 1000

    def finish(self) -> None:
        """The text is complete: draws it now, code with all its colours."""
        self._timer.stop()
        self.flush()
        last = self._segments[-1] if self._segments else None
        if isinstance(last, _Code) and not last.is_closed:
            block = self._splitter.blocks[-1]
            last.draw(Block(block.text, is_code=True, language=block.language, is_closed=True))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and self._tokens is not current_tokens():
            self.set_text(self._text)

    def _draw(self, blocks: list[Block]) -> None:
        last = self._segments[-1] if self._segments else None
        if isinstance(last, _Prose) and (not blocks or blocks[0].is_code):
            last.draw(Block(""))  # what looked like text became a fence
        for block in blocks:
            self._segment_for(block).draw(block)

    def _segment_for(self, block: Block) -> _Prose | _Code:
        last = self._segments[-1] if self._segments else None
        if isinstance(last, _Prose) and not block.is_code:
            return last
        if isinstance(last, _Code) and block.is_code and not last.is_closed:
            return last
        segment = _Code(self) if block.is_code else _Prose(self)
        self._segments.append(segment)
        self._layout.addWidget(segment.widget)
        return segment

    def _clear_segments(self) -> None:
        for segment in self._segments:
            self._layout.removeWidget(segment.widget)
            segment.widget.hide()
            segment.widget.deleteLater()
        self._segments = []
        self._splitter = BlockSplitter()
        self._num_drawn = 0
