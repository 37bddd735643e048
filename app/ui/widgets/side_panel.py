"""The right column of the Chat page: how the model shall answer, and what it costs."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.ui.theme import set_role, ui_font
from app.ui.widgets.live_panel import LivePanel
from app.ui.widgets.sampling_panel import SamplingPanel


class SidePanel(QFrame):
    """Settings scroll; the plots stay in view below them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("side_panel")
        self.setFixedWidth(312)
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
