"""Read-only rich text as tall as its content: it never scrolls, the transcript around it does."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QFocusEvent, QResizeEvent, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QWidget

from app.ui.theme import set_role

_WEB = ("http", "https", "mailto")
_KEYS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


class TextSegment(QTextBrowser):
    """Selectable text; web links open in the browser, nothing is ever loaded into the window.

    Signals:
        height_changed: the content needs another height.
    """

    height_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setTabChangesFocus(True)
        self.setAccessibleName(self.tr("Text"))
        self.document().setDocumentMargin(0)
        self.document().setDefaultFont(self.font())
        self.document().documentLayout().documentSizeChanged.connect(self._on_document_resized)
        self.anchorClicked.connect(self._on_anchor_clicked)
        self.viewport().setAutoFillBackground(False)

    def sizeHint(self) -> QSize:
        return QSize(320, self._content_height())

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self._content_height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """A mark where the keyboard has come to it; who clicks sees the pointer."""
        super().focusInEvent(event)
        set_role(self, "reached", event.reason() in _KEYS)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        set_role(self, "reached", False)

    def loadResource(self, kind: int, url: QUrl | str) -> object:
        return None

    def _content_height(self) -> int:
        return int(self.document().size().height() + 0.999)

    def _on_document_resized(self) -> None:
        self._fit()

    def _fit(self) -> None:
        height = self._content_height()
        if height != self.height() or height != self.minimumHeight():
            self.setFixedHeight(height)
            self.height_changed.emit()

    def _on_anchor_clicked(self, url: QUrl) -> None:
        if url.scheme() in _WEB:
            QDesktopServices.openUrl(url)
