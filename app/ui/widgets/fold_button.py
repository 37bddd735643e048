"""A word that shows and hides something below it."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QWidget

from app.ui.accessible import FoldInterface
from app.ui.theme import set_role


class FoldButton(QPushButton):
    """Down while the other thing is shown; told as unfolded and folded, not as a check box."""

    told_as = FoldInterface

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setCheckable(True)
        set_role(self, "kind", "link")
