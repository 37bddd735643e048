"""Covers the whole window while files are dragged over it, and says what will happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.ui.icons import render_icon
from app.ui.theme import current_tokens, ui_font


def dropped_paths(mime: QMimeData) -> list[Path]:
    """The local files and folders of a drag; empty when it holds anything else."""
    return (
        [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()]
        if mime.hasUrls()
        else []
    )


class DropUse(Enum):
    """What becomes of what is dropped."""

    CONVERT = auto()
    CHECK = auto()
    ATTACH = auto()


class DropOverlay(QWidget):
    """Makes its parent a drop target. Painted only: the parent gets the events, this filters them.

    Signals:
        paths_dropped(list[Path]): local files or folders were let go over the parent.
    """

    paths_dropped = Signal(object)

    def __init__(self, parent: QWidget, use_of: Callable[[Sequence[Path]], DropUse]) -> None:
        """`use_of` tells what will be done with paths, for the words that are shown."""
        super().__init__(parent)
        self._target = parent
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = ""
        self._use_of = use_of
        self.hide()
        parent.setAcceptDrops(True)
        parent.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._target.rect())
        elif event.type() == QEvent.Type.DragLeave:
            self.hide()
        elif isinstance(event, QDropEvent):  # drag enter and drag move are drop events, too
            return self._take_drag(event)
        return False

    def _take_drag(self, event: QDropEvent) -> bool:
        paths = dropped_paths(event.mimeData())
        if not paths:
            return False
        event.acceptProposedAction()
        if event.type() == QEvent.Type.DragEnter:
            self._show_over(paths)
        elif event.type() == QEvent.Type.Drop:
            self.hide()
            self.paths_dropped.emit(paths)
        return True

    def _show_over(self, paths: list[Path]) -> None:
        texts = {
            DropUse.CHECK: (self.tr("Drop to check {name}"), self.tr("Drop to check {name}")),
            DropUse.CONVERT: (
                self.tr("Drop to convert {name}"),
                self.tr("Drop to convert {n} items"),
            ),
            DropUse.ATTACH: (self.tr("Drop to attach {name}"), self.tr("Drop to attach {n} files")),
        }
        text = texts[self._use_of(paths)][len(paths) > 1]
        self._text = text.format(name=paths[0].name, n=len(paths))
        self.setAccessibleName(self._text)
        self.setGeometry(self._target.rect())
        self.raise_()
        self.show()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        sheet = QColor(tokens.window)
        sheet.setAlpha(242)
        painter.fillRect(self.rect(), sheet)
        frame = QRectF(self.rect()).adjusted(18, 18, -18, -18)
        painter.setPen(QPen(QColor(tokens.accent), 2, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(frame, 18, 18)
        icon = render_icon("drop", tokens.accent, 56)
        centre = self.rect().center()
        painter.drawPixmap(centre.x() - 28, centre.y() - 64, icon)
        painter.setFont(ui_font(1.5, bold=True))
        painter.setPen(QColor(tokens.text))
        area = self.rect().adjusted(40, centre.y() + 4, -40, 0)
        painter.drawText(
            area, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, self._text
        )
