"""The port's switch below the pages' buttons: seen from every page."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.controllers.server import ServerController, ServerState
from app.ui.sentences import shown
from app.ui.server_labels import state_text, state_tone
from app.ui.theme import set_role, ui_font
from app.ui.widgets.switch import Switch


class ServerToggle(QWidget):
    """Flips the port and shows where it is open."""

    def __init__(self, controller: ServerController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._controller = controller
        self.switch = Switch(self.tr("OpenAI server"))
        self.label = QLabel()
        self.label.setFont(ui_font(0.82))
        self.label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.switch, alignment=Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(self.label)
        self.switch.clicked.connect(controller.set_on)
        controller.state_changed.connect(self._on_state_changed)
        self._on_state_changed(controller.state)

    def _on_state_changed(self, state: ServerState) -> None:
        show_on_switch(self.switch, state)
        self.label.setText(self._text(state))
        set_role(self.label, "tone", state_tone(state))
        error = self._controller.error
        self.label.setToolTip(shown(error.message) if error else self._controller.base_url)
        self.switch.setAccessibleDescription(self.label.text())

    def _text(self, state: ServerState) -> str:
        """Where no address is shown, what it is that the switch is for."""
        if state is ServerState.OFF:
            return self.tr("Server off")
        if state is ServerState.FAILED:
            return self.tr("Server failed")
        return state_text(state, self._controller.port)


def show_on_switch(switch: Switch, state: ServerState) -> None:
    """The state as a switch has it."""
    switch.show_checked(state in (ServerState.STARTING, ServerState.ON))
    switch.setEnabled(state is not ServerState.STOPPING)
    switch.set_tone("danger" if state is ServerState.FAILED else "accent")
