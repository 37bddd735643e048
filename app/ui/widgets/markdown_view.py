"""A reply as Markdown: text segments and code blocks one below the other, drawn as they stream."""

from __future__ import annotations

import time
from collections.abc import Iterator

from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.ui.idle_work import IdleWork
from app.ui.markdown_blocks import Block, BlockSplitter, count_together, join_blocks
from app.ui.rich_text import MarkdownWriter
from app.ui.theme import current_tokens
from app.ui.widgets.code_segment import CodeSegment
from app.ui.widgets.text_segment import TextSegment

# 30 repaints a second; a block that has become expensive gets at most a quarter of the thread.
_REPAINT_MS = 33
_COST_FACTOR = 3
# 1,000 characters take about 5 ms. What was said long ago comes by many thousands at once.
_CHARS_A_STEP = 1500
_CODE_CHARS = 500  # what the frame of a block of code costs, in characters


class _Prose:
    """A text segment and what writes into it."""

    def __init__(self, parent: QWidget) -> None:
        self.widget = TextSegment(parent)
        self.writer = MarkdownWriter(self.widget.document(), current_tokens())

    def draw(self, block: Block) -> None:
        self.writer.replace_tail(block.text, continues_list=block.continues_list)
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
        self._work = IdleWork(self)
        self._segments: list[_Prose | _Code] = []
        self._splitter = BlockSplitter()
        self._num_drawn = 0
        self._is_finished = False
        self._last_cost_ms = 0.0
        self._tokens = current_tokens()

    @property
    def text(self) -> str:
        """The Markdown so far, drawn or about to be."""
        return self._text

    @property
    def is_drawing(self) -> bool:
        """Whether more of the text is about to be drawn, in steps between other events."""
        return self._work.is_running

    def set_text(self, text: str) -> None:
        """Replaces everything; a long text is drawn from its start, in steps."""
        if self._segments:
            self.setMinimumHeight(self.height())  # until it is drawn: what stands below stays there
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
        self._work.start(self._draw())
        self._work.step()
        self._last_cost_ms = (time.perf_counter() - started) * 1000

    def finish(self) -> None:
        """The text is complete: draws it now, code with all its colours."""
        self._timer.stop()
        self._is_finished = True
        self.flush()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and self._tokens is not current_tokens():
            self.set_text(self._text)

    def _draw(self) -> Iterator[None]:
        """Every block from the first one on that may have changed, a few in each step."""
        blocks = self._splitter.blocks_from(self._num_drawn)
        if not blocks:
            self._drop_tail()
        num_chars = 0
        while blocks:
            count = count_together(blocks, _CHARS_A_STEP)
            block, blocks = join_blocks(blocks[:count]), blocks[count:]
            cost = len(block.text) + (_CODE_CHARS if block.is_code else 0)
            if num_chars + cost > _CHARS_A_STEP and num_chars:
                num_chars = 0
                yield
            self._draw_block(block)
            self._num_drawn += count if block.is_closed else 0
            num_chars += cost
        if self._is_finished:
            self._close_code()
        self.setMinimumHeight(0)

    def _draw_block(self, block: Block) -> None:
        if block.is_code:
            self._drop_tail()
        self._segment_for(block).draw(block)

    def _drop_tail(self) -> None:
        """What looked like text became a fence."""
        last = self._segments[-1] if self._segments else None
        if isinstance(last, _Prose):
            last.draw(Block(""))

    def _close_code(self) -> None:
        last = self._segments[-1] if self._segments else None
        if isinstance(last, _Code) and not last.is_closed:
            block = self._splitter.blocks_from(self._num_drawn)[-1]
            last.draw(Block(block.text, is_code=True, language=block.language, is_closed=True))

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
        self._work.cancel()
        self._splitter = BlockSplitter()
        self._num_drawn = 0
        self._is_finished = False
