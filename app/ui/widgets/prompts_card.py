"""What the chat template makes of some turns, character by character."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from app.core.validation_events import RenderedPrompt
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card, clear_layout
from app.ui.widgets.code_segment import CodeSegment


class PromptsCard(Card):
    """One block per rendered prompt."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Rendered prompts"), parent)
        self._blocks = QVBoxLayout()
        self._blocks.setSpacing(10)
        self.rows.addLayout(self._blocks)

    def show_prompts(self, prompts: Sequence[RenderedPrompt]) -> None:
        """Shows other prompts."""
        clear_layout(self._blocks)
        for prompt in prompts:
            self._blocks.addWidget(_create_block(prompt))


def _create_block(prompt: RenderedPrompt) -> QWidget:
    block = QFrame()
    rows = QVBoxLayout(block)
    rows.setContentsMargins(0, 0, 0, 0)
    rows.setSpacing(4)
    title = QLabel(shown(prompt.turns))
    title.setFont(ui_font(0.9))
    set_role(title, "tone", "muted")
    code = CodeSegment()
    code.set_code(prompt.text, "", is_closed=True)
    rows.addWidget(title)
    rows.addWidget(code)
    return block
