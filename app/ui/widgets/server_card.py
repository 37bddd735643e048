"""Whether the port is open, where, for which model, and how fast it is; or why it is not."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.controllers.server import ServerController, ServerState
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.address_row import AddressRow
from app.ui.widgets.card import Card, create_chip
from app.ui.widgets.server_toggle import show_on_switch
from app.ui.widgets.switch import Switch


class ServerCard(Card):
    """Signals:
    model_requested: choose a model.
    """

    model_requested = Signal()

    def __init__(self, controller: ServerController, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._controller = controller
        self.switch = Switch(self.tr("OpenAI server"))
        self.title = QLabel()
        self.title.setFont(ui_font(1.2, bold=True))
        self.note = QLabel()
        self.rate = create_chip()
        self.url = AddressRow(self.tr("Base URL"))
        self.lan_url = AddressRow(self.tr("Base URL for other machines"))
        self.free_port_button = QPushButton()
        self.model_button = QPushButton(self.tr("Choose a model"))
        self._build()
        self.show_model("")

    def show_state(self, state: ServerState) -> None:
        """Shows what became of the switch."""
        show_on_switch(self.switch, state)
        self.title.setText(self._title(state))
        self.url.show_address(self._controller.base_url)
        self.lan_url.show_address(self._controller.lan_url)
        self.rate.setVisible(state is ServerState.ON)
        free_port = self._controller.free_port
        self.free_port_button.setVisible(state is ServerState.FAILED and free_port is not None)
        self.free_port_button.setText(self.tr("Use port {n}").format(n=free_port))
        self._update_note()

    def show_model(self, name: str) -> None:
        """The model that answers; '' for none."""
        self._model = name
        self._update_note()

    def show_rate(self, num_running: int, tok_s: float) -> None:
        """How busy it is."""
        if not num_running:
            self.rate.setText(self.tr("idle"))
            return
        text = self.tr("{n} running  ·  {rate} tok/s")
        self.rate.setText(text.format(n=num_running, rate=f"{tok_s:.1f}"))

    def _title(self, state: ServerState) -> str:
        return {
            ServerState.OFF: self.tr("The server is off"),
            ServerState.STARTING: self.tr("Opening port {n}…").format(n=self._controller.port),
            ServerState.ON: self.tr("The server is on"),
            ServerState.STOPPING: self.tr("Closing the port…"),
            ServerState.FAILED: self.tr("The server is not running"),
        }[state]

    def _update_note(self) -> None:
        state, error = self._controller.state, self._controller.error
        if state is ServerState.FAILED and error is not None:
            text, tone = shown(error.message), "danger"
        elif state is not ServerState.ON:
            text = self.tr("Programs that speak the OpenAI API can use the model in this window.")
            tone = "muted"
        elif self._model:
            text = self.tr("{model} answers. The chat in this window goes first.")
            text, tone = text.format(model=self._model), "muted"
        else:
            text = self.tr("No model is loaded: requests are answered with 503 until one is.")
            tone = "warning"
        self.note.setText(text)
        set_role(self.note, "tone", tone)
        self.model_button.setVisible(state is ServerState.ON and not self._model)

    def _build(self) -> None:
        self.note.setWordWrap(True)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        set_role(self.free_port_button, "kind", "primary")
        self.switch.clicked.connect(self._controller.set_on)
        self.free_port_button.clicked.connect(self._controller.take_free_port)
        self.model_button.clicked.connect(self.model_requested)
        head = QHBoxLayout()
        head.setSpacing(14)
        head.addWidget(self.switch)
        head.addWidget(self.title, 1)
        head.addWidget(self.rate)
        self.rows.addLayout(head)
        self.rows.addLayout(self._create_note_row())
        self.rows.addWidget(self.url)
        self.rows.addWidget(self.lan_url)

    def _create_note_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(self.note, 1)
        row.addWidget(self.model_button)
        row.addWidget(self.free_port_button)
        return row
