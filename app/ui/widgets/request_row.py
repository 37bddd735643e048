"""A request of the port that runs: who asks, how far it is, and the button that ends it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.core.server_events import ServerRequestEvent, ServerRequestState
from app.ui.formats import format_count
from app.ui.icons import IconButton
from app.ui.server_labels import request_state_text
from app.ui.theme import set_role, ui_font
from app.ui.widgets.elided_label import ElidedLabel


class RequestRow(QFrame):
    """Signals:
    cancel_requested(str): the request's id.
    """

    cancel_requested = Signal(str)

    def __init__(self, request_id: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._request_id = request_id
        self.client = ElidedLabel()
        self.facts = ElidedLabel(cut=Qt.TextElideMode.ElideRight)  # the model comes first
        self.counts = QLabel()
        self.state = QLabel()
        self.cancel_button = IconButton("close", self.tr("Cancel"), size=16)
        self._build()

    def show_request(self, event: ServerRequestEvent) -> None:
        """How far it is."""
        self.client.set_whole(event.client or self.tr("unknown client"))
        self.facts.set_whole(f"{event.model}  ·  {event.path}" if event.model else event.path)
        self.counts.setText(self._counts(event))
        self.state.setText(request_state_text(event.state))
        is_answering = event.state is ServerRequestState.DECODING
        set_role(self.state, "tone", "accent" if is_answering else "muted")
        label = self.tr("Cancel the request of {client}").format(client=self.client.whole)
        self.cancel_button.set_label(label)
        self.setAccessibleName(f"{self.client.whole}: {self.state.text()}")

    def _counts(self, event: ServerRequestEvent) -> str:
        parts = []
        if event.prompt_tokens:
            count = format_count(event.prompt_tokens)
            parts.append(self.tr("prompt {n}").format(n=count))
        if event.state is ServerRequestState.DECODING:
            count = format_count(event.completion_tokens)
            parts.append(self.tr("{n} tokens").format(n=count))
            parts.append(self.tr("{rate} tok/s").format(rate=f"{event.tok_s:.1f}"))
        return "  ·  ".join(parts)

    def _on_cancel_clicked(self) -> None:
        self.cancel_button.setEnabled(False)
        self.cancel_requested.emit(self._request_id)

    def _build(self) -> None:
        set_role(self, "card", "sunken")
        self.client.setFont(ui_font(1.0, bold=True))
        self.counts.setTextFormat(Qt.TextFormat.PlainText)
        for label in (self.facts, self.counts, self.state):
            label.setFont(ui_font(0.92))
            set_role(label, "tone", "muted")
        self.cancel_button.clicked.connect(self._on_cancel_clicked)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 8, 8, 8)
        row.setSpacing(12)
        lines = QVBoxLayout()
        lines.setSpacing(1)
        for words, right in ((self.client, self.state), (self.facts, self.counts)):
            line = QHBoxLayout()
            line.setSpacing(12)
            line.addWidget(words, 1)
            line.addWidget(right)
            lines.addLayout(line)
        row.addLayout(lines, 1)
        row.addWidget(self.cancel_button)
