"""The side columns of the Chat page: folded where they would leave the conversation too little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication

if TYPE_CHECKING:
    from app.ui.widgets.chat_top_bar import ChatTopBar

# The least width of the page beside which a column stands: pixels with the window's own face at
# 100 %, and digits, as a larger or wider face needs more.
_PANEL_WIDTH, _CONVERSATIONS_WIDTH = (1060, 118), (760, 84)


class SideColumns:
    """A page that becomes too narrow for a column folds it; one that becomes wide unfolds it."""

    def __init__(self, top_bar: ChatTopBar) -> None:
        self._columns = (
            (top_bar.panel_button, *_PANEL_WIDTH),
            (top_bar.conversations_button, *_CONVERSATIONS_WIDTH),
        )
        self._has_room = [True] * len(self._columns)
        self._width = -1

    def take_over(self, old: SideColumns) -> None:
        """Goes on where `old` stands: what one folded by hand stays so."""
        self._has_room, self._width = list(old._has_room), old._width

    def fit(self, page_width: int) -> None:
        """The page is this wide now."""
        self._width = page_width
        digit = QFontMetricsF(QApplication.font()).horizontalAdvance("0")
        for number, (button, pixels, digits) in enumerate(self._columns):
            has_room = page_width >= max(pixels, round(digits * digit))
            if has_room != self._has_room[number]:
                self._has_room[number] = has_room
                button.setChecked(has_room)

    def fit_again(self) -> None:
        """The text has another size now."""
        if self._width >= 0:
            self.fit(self._width)
