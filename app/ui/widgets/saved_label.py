"""What became of something that was saved."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from app.core.events import ErrorInfo
from app.ui.sentences import shown
from app.ui.theme import set_role


class SavedLabel(QLabel):
    """Hidden until there is something to tell."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.hide()

    def show_saved(self, path: Path) -> None:
        """The report was saved as this Markdown file."""
        text = self.tr("The report was saved as {markdown} and {json}.")
        names = {"markdown": str(path), "json": path.with_suffix(".json").name}
        self._show(text.format(**names), "success")

    def show_file(self, path: Path) -> None:
        """Something was saved as this file."""
        self._show(self.tr("Saved as {path}.").format(path=path), "success")

    def show_error(self, error: ErrorInfo) -> None:
        """The report could not be saved."""
        self._show(shown(error.message), "danger")

    def _show(self, text: str, tone: str) -> None:
        self.setText(text)
        set_role(self, "tone", tone)
        self.show()
