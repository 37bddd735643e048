"""What the model thought before it answered: folded, until somebody wants to read it."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.ui.formats import format_count
from app.ui.theme import set_role
from app.ui.widgets.collapsible import Collapsible
from app.ui.widgets.text_segment import TextSegment


class ThoughtsSection(QWidget):
    """Hidden where nothing was thought; the title tells how much was."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._thought = self._drawn = ""
        self._is_thinking = False
        self._text = TextSegment()
        self._text.setAccessibleName(self.tr("Thoughts"))
        frame = QFrame()
        set_role(frame, "card", "sunken")
        inner = QVBoxLayout(frame)
        inner.setContentsMargins(14, 10, 14, 10)
        inner.addWidget(self._text)
        self.section = Collapsible(self.tr("Thoughts"), frame, is_open=False)
        self.section.button.toggled.connect(self._draw)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.section)
        self.hide()

    @property
    def thought(self) -> str:
        """What was thought so far."""
        return self._thought

    def show_thought(self, thought: str, *, is_thinking: bool) -> None:
        """The whole thought so far; drawn only where it is unfolded."""
        if (thought, is_thinking) == (self._thought, self._is_thinking):
            return
        self._thought, self._is_thinking = thought, is_thinking
        count = format_count(len(thought.split()))
        title = self.tr("Thinking… {n} words") if is_thinking else self.tr("Thoughts, {n} words")
        self.section.button.setText(title.format(n=count))
        self.section.button.setAccessibleName(title.format(n=count))
        self.setVisible(bool(thought) or is_thinking)
        self._draw()

    def _draw(self) -> None:
        """Adds what is new: a thought may be long, and grows thirty times a second."""
        if not self.section.button.isChecked():
            return
        if self._drawn and self._thought.startswith(self._drawn):
            cursor = QTextCursor(self._text.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(self._thought[len(self._drawn) :])
        else:
            self._text.setPlainText(self._thought)
        self._drawn = self._thought
