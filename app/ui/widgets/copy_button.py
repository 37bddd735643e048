"""A button that copies text and shows for a moment that it did."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.ui.icons import IconButton

_CONFIRM_MS = 1400


class CopyButton(IconButton):
    """Copies what `get_text` returns at the click."""

    def __init__(
        self,
        get_text: Callable[[], str],
        label: str,
        parent: QWidget | None = None,
        *,
        size: int = 18,
    ) -> None:
        super().__init__("copy", label, parent, size=size)
        self._get_text = get_text
        self._reset_timer = QTimer(self, singleShot=True, interval=_CONFIRM_MS)
        self._reset_timer.timeout.connect(self._on_reset_timeout)
        self.clicked.connect(self._on_clicked)

    def _on_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self._get_text())
        self.set_icon_name("check")
        self._reset_timer.start()

    def _on_reset_timeout(self) -> None:
        self.set_icon_name("copy")
