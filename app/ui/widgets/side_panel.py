"""The right column of the Chat page: how the model shall answer, and what it costs."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.ui.theme import set_role, ui_font
from app.ui.widgets.live_panel import LivePanel
from app.ui.widgets.sampling_panel import SamplingPanel

_LEAST_WIDTH = 312  # pixels: with the window's own face at 100 %
_WIDTH_IN_DIGITS, _CHAT_WIDTH_IN_DIGITS = 35, 86


class SidePanel(QFrame):
    """Settings scroll; the plots stay in view below them. A larger or wider face widens it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("side_panel")
        self.setFixedWidth(_LEAST_WIDTH)
        self.sampling = SamplingPanel()
        self.live = LivePanel()
        self._port = QLabel()
        self._port.setWordWrap(True)
        self._port.setFont(ui_font(0.84))
        set_role(self._port, "tone", "accent")
        self._port.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 12)
        layout.setSpacing(10)
        layout.addWidget(self._create_scroll_area(), 1)
        layout.addWidget(self._create_rule())
        foot = QVBoxLayout()
        foot.setContentsMargins(16, 0, 16, 0)
        foot.setSpacing(8)
        foot.addWidget(self._port)
        foot.addWidget(self.live)
        layout.addLayout(foot)

    def show_port(self, num_requests: int) -> None:
        """How many requests of the port share the engine with the chat."""
        self._port.setVisible(num_requests > 0)
        text = self.tr("The server answers, too ({n} running); the chat goes first.")
        self._port.setText(text.format(n=num_requests))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            page = self.parentWidget()
            self.fit(page.width() if page else 0)

    def fit(self, page_width: int) -> None:
        """As wide as its texts want, where the page leaves the chat its room beside it."""
        digit = QFontMetricsF(QApplication.font()).horizontalAdvance("0")
        wanted = round(_WIDTH_IN_DIGITS * digit)
        room = page_width - round(_CHAT_WIDTH_IN_DIGITS * digit)
        self.setFixedWidth(max(_LEAST_WIDTH, min(wanted, room)))

    def _create_scroll_area(self) -> QScrollArea:
        box = QWidget()
        inner = QVBoxLayout(box)
        inner.setContentsMargins(16, 12, 16, 8)
        inner.addWidget(self.sampling)
        inner.addStretch()
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(box)
        return area

    def _create_rule(self) -> QFrame:
        rule = QFrame()
        rule.setObjectName("rule")
        return rule
