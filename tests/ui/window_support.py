"""Opens the real window on the test's home, and closes it the way the program does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from PySide6.QtCore import QEvent, QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLabel, QTableView, QWidget

from app.controllers.machine import MachineController
from app.gui import Program, create_application

# Generous: the machine may be busy with other tests.
TIMEOUT_MS = 180_000


@contextmanager
def running_program(*, looks_at_machine: bool = False) -> Iterator[Program]:
    """A program with its window shown and what follows the first paint begun; closed at the end.

    `looks_at_machine`: in a process, as it does where there is no model yet.
    """
    look = MachineController.look if looks_at_machine else lambda _self: None
    with patch.object(MachineController, "look", look):
        program = Program(create_application())
        program.window.show()
        program.start(None)
        try:
            yield program
        finally:
            _close(program)


def _close(program: Program) -> None:
    program.window.close()
    program.shutdown()
    program.window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def drag_over(target: QWidget, paths: Iterable[Path]) -> QDragEnterEvent:
    """Drags files over a widget without letting go."""
    event = QDragEnterEvent(QPoint(40, 40), Qt.DropAction.CopyAction, _mime(paths), *_BUTTONS)
    QApplication.sendEvent(target, event)
    return event


def drop_on(target: QWidget, paths: Iterable[Path]) -> QDropEvent:
    """Drags files over a widget and lets go."""
    mime = _mime(paths)
    enter = QDragEnterEvent(QPoint(40, 40), Qt.DropAction.CopyAction, mime, *_BUTTONS)
    QApplication.sendEvent(target, enter)
    drop = QDropEvent(QPoint(40, 40), Qt.DropAction.CopyAction, mime, *_BUTTONS)
    QApplication.sendEvent(target, drop)
    return drop


_BUTTONS = (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
_KEEP: list[QMimeData] = []


def _mime(paths: Iterable[Path]) -> QMimeData:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    _KEEP[:] = [mime]  # the event holds a bare pointer
    return mime


def texts(widget: QWidget) -> str:
    """All labels that can be seen, a line each."""
    labels = widget.findChildren(QLabel)
    return "\n".join(label.text() for label in labels if label.isVisibleTo(widget))


def cells(table: QTableView) -> list[list[str]]:
    """A table as it is shown, row by row."""
    model = table.model()
    rows, columns = range(model.rowCount()), range(model.columnCount())
    return [[model.index(row, column).data() for column in columns] for row in rows]
