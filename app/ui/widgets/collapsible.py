"""A section whose title folds it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.ui.accessible import FoldInterface
from app.ui.icons import IconButton


class _Title(IconButton):
    told_as = FoldInterface


class Collapsible(QWidget):
    """Shows `content` below a title that can be clicked or pressed."""

    def __init__(
        self, title: str, content: QWidget, *, is_open: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.content = content
        self._button = _Title("chevron_down", title, size=16, checked_tone="muted")
        self._button.setText(title)
        self._button.setToolTip("")
        self._button.set_kind("section")
        self._button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._button.setIconSize(QSize(16, 16))
        self._button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._button.setCheckable(True)
        self._button.setChecked(is_open)
        self._button.toggled.connect(self._on_toggled)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._button)
        layout.addWidget(content)
        self._on_toggled(is_open)

    @property
    def button(self) -> QToolButton:
        """The title."""
        return self._button

    def _on_toggled(self, is_open: bool) -> None:
        self.content.setVisible(is_open)
        self._button.set_icon_name("chevron_down" if is_open else "chevron_right")
