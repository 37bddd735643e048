"""Above the transcript: which model answers, where it runs, how much it can keep in mind."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.controllers.chat_state import ChatState
from app.core.events import LoadedModel
from app.ui.formats import format_count
from app.ui.icons import IconButton
from app.ui.sentences import shown
from app.ui.widgets.card import create_chip
from app.ui.widgets.model_picker import ModelPicker

# A bar at least this wide has room for the chip.
_DEVICE_WIDTH = 560
_ARCHITECTURE_WIDTH = 740


class ChatTopBar(QFrame):
    """Signals:
    conversations_toggled(bool)
    panel_toggled(bool)
    """

    conversations_toggled = Signal(bool)
    panel_toggled = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("top_bar")
        self.picker = ModelPicker()
        self.conversations_button = IconButton("sidebar", self.tr("Show conversations (Ctrl+B)"))
        self.panel_button = IconButton("panel", self.tr("Show settings and plots (Ctrl+Shift+B)"))
        self._architecture = create_chip()
        self._device = create_chip()
        self._context = create_chip()
        self._has_model = self._has_architecture = self._has_context = False
        self._build()

    def set_state(self, state: ChatState, model: LoadedModel | None) -> None:
        """Shows the model in the engine."""
        self.picker.set_state(state, model)
        self._has_model = model is not None
        self._has_architecture = model is not None and bool(model.architecture)
        self._has_context = model is not None and model.max_model_len > 0
        self._update_chips()
        if model is None:
            return
        self._architecture.setText(model.architecture)
        device = self.tr("REMOTE") if model.is_remote else model.device.upper()
        self._device.setText(f"{device} {model.precision}".rstrip())
        self._device.setToolTip(shown(model.device_note))
        context = self.tr("{n} tokens of context")
        self._context.setText(context.format(n=format_count(model.max_model_len)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_chips()

    def _update_chips(self) -> None:
        """The context is shown where it is known, the rest where there is room."""
        self._context.setVisible(self._has_model and self._has_context)
        self._device.setVisible(self._has_model and self.width() >= _DEVICE_WIDTH)
        self._architecture.setVisible(
            self._has_architecture and self.width() >= _ARCHITECTURE_WIDTH
        )

    def _build(self) -> None:
        for button, toggled in (
            (self.conversations_button, self.conversations_toggled),
            (self.panel_button, self.panel_toggled),
        ):
            button.setCheckable(True)
            button.setChecked(True)
            button.toggled.connect(toggled)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(8)
        row.addWidget(self.conversations_button)
        row.addWidget(self.picker)
        for chip in (self._architecture, self._device, self._context):
            row.addWidget(chip)
        row.addStretch()
        row.addWidget(self.panel_button)
