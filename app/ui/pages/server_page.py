"""The Server page: the OpenAI port, who may use it, how, and what it is doing."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.controllers.server import ServerController, ServerState
from app.ui.theme import set_role, ui_font
from app.ui.widgets.example_card import ExampleCard
from app.ui.widgets.page_column import PageColumn
from app.ui.widgets.requests_card import RequestsCard
from app.ui.widgets.server_card import ServerCard
from app.ui.widgets.server_options_card import ServerOptionsCard

# Events come several times a second for each request; eyes follow less.
_REFRESH_MS = 200


class ServerPage(QWidget):
    """Shows what the controller tells; the port goes on while other pages are open.

    Signals:
        model_requested: choose a model for the port.
    """

    model_requested = Signal()

    def __init__(self, controller: ServerController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._controller = controller
        self._model = ""
        self.card = ServerCard(controller)
        self.options = ServerOptionsCard(controller)
        self.example = ExampleCard()
        self.requests = RequestsCard()
        self._column = PageColumn()
        self._refresh = QTimer(self, singleShot=True, interval=_REFRESH_MS)
        self._refresh.timeout.connect(self._show_requests)
        self._build()
        self._connect()
        self._on_state_changed(controller.state)

    def show_model(self, name: str) -> None:
        """The model that answers at the port; '' for none."""
        self._model = name
        self.card.show_model(name)
        self._update_example()

    def take_over(self, old: ServerPage) -> None:
        """Shows what `old` shows."""
        self.show_model(old._model)
        self._column.take_over(old._column)

    def _on_state_changed(self, state: ServerState) -> None:
        self.card.show_state(state)
        self._update_example()
        self._show_requests()

    def _on_requests_changed(self) -> None:
        if not self._refresh.isActive():
            self._refresh.start()

    def _show_requests(self) -> None:
        log = self._controller.log
        if not self.requests.show_running(log.running):
            self._refresh.start()
        self.requests.show_finished(log.finished, log.num_finished)
        self.card.show_rate(len(log.running), log.tok_s)

    def _update_example(self) -> None:
        controller = self._controller
        url = controller.base_url or f"http://127.0.0.1:{controller.port}/v1"
        model = self._model or self.tr("the name of a model")
        self.example.show_example(url, model, wants_key=bool(controller.api_key))

    def _build(self) -> None:
        title = QLabel(self.tr("Server"))
        title.setFont(ui_font(1.8, bold=True))
        hint = QLabel(
            self.tr(
                "An OpenAI-compatible port on this machine, for editors, agents and scripts. It "
                "answers with the model that is loaded here, up to eight requests at once."
            )
        )
        hint.setWordWrap(True)
        set_role(hint, "tone", "muted")
        for widget in (title, hint, self.card, self.requests, self.options, self.example):
            self._column.rows.addWidget(widget)
        self._column.close_rows()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._column)

    def _connect(self) -> None:
        controller = self._controller
        controller.state_changed.connect(self._on_state_changed)
        controller.options_changed.connect(self._update_example)
        controller.requests_changed.connect(self._on_requests_changed)
        self.card.model_requested.connect(self.model_requested)
        self.requests.cancel_requested.connect(controller.cancel)
        self.requests.clear_requested.connect(controller.clear_log)
