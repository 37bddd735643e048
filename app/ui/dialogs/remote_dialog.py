"""Which other server answers the chat: its address, its key, its model."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from app.controllers.remote import RemoteController
from app.core.errors import UsageError
from app.core.events import ErrorInfo
from app.remote.endpoint import RemoteEndpoint, RemoteModel, parse_base_url
from app.ui.dialogs.fitting_dialog import FittingDialog
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.choice_button import ChoiceButton
from app.ui.widgets.secret_field import SecretField


class RemoteDialog(FittingDialog):
    """Connects through the controller when accepted. Deletes itself when closed."""

    def __init__(self, controller: RemoteController, parent: QWidget | None = None) -> None:
        super().__init__(540, parent)
        self._controller = controller
        self.setWindowTitle(self.tr("Remote server"))
        self.address = QLineEdit(controller.base_url)
        self.key = SecretField(self.tr("API key"), self.tr("Only if the server asks for one"))
        self.model = self._create_models(())
        self.test_button = QPushButton(self.tr("Test"))
        self.test_button.setAccessibleDescription(self.tr("Asks the address for its models"))
        self.status = QLabel()
        self.cancel_button = QPushButton(self.tr("Cancel"))
        self.connect_button = QPushButton(self.tr("Connect"))
        self._form = QFormLayout()
        self._build()
        self._connect()
        self._update()
        controller.ask_key()

    def _on_test_clicked(self) -> None:
        self._show_status(self.tr("Asking for its models…"), "muted")
        self._controller.find_models(self.address.text(), self.key.key)

    def _on_connect_clicked(self) -> None:
        self._controller.use(self.address.text(), self.key.key, self.model.value)
        if self._base_url():
            self.accept()

    def _on_models_found(self, models: tuple[RemoteModel, ...]) -> None:
        if not models:
            self._show_status(self.tr("It answers, but has no model loaded."), "warning")
            return
        text = self.tr("It answers. Models: {n}.").format(n=len(models))
        self._show_status(text, "success")
        chosen = self.model.value
        self._form.removeRow(self.model)
        self.model = self._create_models(tuple(model.name for model in models))
        if chosen in {model.name for model in models}:
            self.model.set_value(chosen)
        self._form.addRow(self.tr("Model"), self.model)

    def _on_failed(self, error: ErrorInfo) -> None:
        self._show_status(shown(error.message), "danger")

    def _on_key_known(self, key: str) -> None:
        if self.address.text() == self._controller.base_url and not self.key.key:
            self.key.show_key(key)

    def _update(self) -> None:
        self._controller.give_up()  # it was about another server
        has_address = bool(self.address.text().strip())
        self.test_button.setEnabled(has_address)
        self.connect_button.setEnabled(has_address)
        endpoint = RemoteEndpoint(self._base_url(), api_key=self.key.key)
        if endpoint.is_key_exposed:
            text = self.tr("The key and the chat travel unencrypted to this address (http).")
            self._show_status(text, "warning")
        else:
            self._show_status("", "muted")

    def _base_url(self) -> str:
        try:
            return parse_base_url(self.address.text())
        except UsageError:
            return ""

    def _show_status(self, text: str, tone: str) -> None:
        self.status.setText(text)
        set_role(self.status, "tone", tone)

    def _create_models(self, names: tuple[str, ...]) -> ChoiceButton:
        last = self._controller.model
        known = names or ((last,) if last else ())
        choices = {"": self.tr("The first that it lists"), **{name: name for name in known}}
        button = ChoiceButton(self.tr("Model"), choices)
        button.set_value(last if last in choices else "")
        return button

    def _connect(self) -> None:
        controller = self._controller
        controller.models_found.connect(self._on_models_found)
        controller.failed.connect(self._on_failed)
        controller.key_known.connect(self._on_key_known)
        self.address.textChanged.connect(self._update)
        self.key.edit.textChanged.connect(self._update)
        self.test_button.clicked.connect(self._on_test_clicked)
        self.connect_button.clicked.connect(self._on_connect_clicked)
        self.cancel_button.clicked.connect(self.reject)
        self.finished.connect(controller.give_up)

    def _build(self) -> None:
        self.address.setPlaceholderText("http://127.0.0.1:8000/v1")
        self.address.setAccessibleName(self.tr("Address"))
        self.address.setAcceptDrops(False)
        title = QLabel(self.tr("Chat with another server"))
        title.setFont(ui_font(1.15, bold=True))
        text = QLabel(
            self.tr(
                "vLLM, llama-server, or this program on another machine: anything that speaks the "
                "OpenAI API. What is said is sent there; conversations stay on this disk."
            )
        )
        set_role(text, "tone", "muted")
        note = QLabel(
            self.tr(
                "The key goes into the system's keyring; where there is none it is forgotten when "
                "the program ends."
            )
        )
        note.setFont(ui_font(0.92))
        set_role(note, "tone", "muted")
        for label in (text, note, self.status):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        address = QHBoxLayout()
        address.setSpacing(8)
        address.addWidget(self.address, 1)
        address.addWidget(self.test_button)
        self._form.setHorizontalSpacing(16)
        self._form.setVerticalSpacing(10)
        self._form.addRow(self.tr("Address"), address)
        self._form.addRow(self.tr("API key"), self.key)
        self._form.addRow("", note)
        self._form.addRow(self.tr("Model"), self.model)
        self.rows.setSpacing(14)
        for widget in (title, text):
            self.rows.addWidget(widget)
        self.rows.addLayout(self._form)
        self.rows.addWidget(self.status)
        self.close_rows(self._create_buttons())

    def _create_buttons(self) -> QHBoxLayout:
        set_role(self.connect_button, "kind", "primary")
        self.connect_button.setDefault(True)
        self.test_button.setAutoDefault(False)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        buttons.addStretch()
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.connect_button)
        return buttons
