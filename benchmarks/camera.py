"""Pictures of the window with what stands above it, in both themes."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QPoint, QRect
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app.gui import Program
from app.ui.theme import ThemeMode, current_tokens

_LEAST_ROUNDS = 20
_SETTLE_S = 0.25  # layouts that come from the event loop, timers that fill a list


class Camera:
    """Writes `<folder>-light/00 title.png` and so on; each theme has a folder of its own."""

    def __init__(self, program: Program, folder: Path, *modes: ThemeMode, first: int = 0) -> None:
        """`first`: the number of the first picture."""
        self._program, self._next = program, first
        self._folders = {mode: folder.with_name(f"{folder.name}-{mode.value}") for mode in modes}
        for made in self._folders.values():
            made.mkdir(parents=True, exist_ok=True)

    def take(self, title: str) -> None:
        """Dialogs and menus are closed afterwards."""
        window = self._program.window
        for mode, folder in self._folders.items():
            self._program.theme.set_mode(mode)
            settle()
            take_picture(window).save(str(folder / f"{self._next:02} {title}.png"))
        self._next += 1
        for above in find_above(window):
            above.close()
        window.overlay.hide()


def settle() -> None:
    """Runs the event loop for a moment, on a busy machine longer: layouts follow one another."""
    end_s, num_rounds = time.monotonic() + _SETTLE_S, 0
    while time.monotonic() < end_s or num_rounds < _LEAST_ROUNDS:
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        # Outside of `exec` nobody else does what `deleteLater` asks for.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        num_rounds += 1


def find_above(window: QWidget) -> list[QWidget]:
    """Dialogs and menus of the window that are open."""
    tops = QApplication.topLevelWidgets()
    return [top for top in tops if top is not window and top.isVisible()]


def take_picture(window: QWidget) -> QPixmap:
    """The window, with dialogs in its middle and menus where they are, on any platform."""
    picture = window.grab()
    painter = QPainter(picture)
    for above in find_above(window):
        place = window.mapFromGlobal(above.mapToGlobal(QPoint()))
        if not isinstance(above, QMenu):
            place = window.rect().center() - above.rect().center()
        painter.drawPixmap(place, above.grab())
        painter.setPen(QColor(current_tokens().control_border))  # a window manager draws a frame
        painter.drawRect(QRect(place, above.size()))
    painter.end()
    return picture
