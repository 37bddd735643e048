"""A token for one hub: typed once, kept by the system, forgotten at a click."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QWidget

from app.core.download_events import TokenFailed, TokenTold
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card, clear_layout
from app.ui.widgets.flow_layout import FlowLayout

_URL = re.compile(r"https?://[^\s,;)]+[^\s,;.:)]")


def find_links(sentence: str) -> tuple[str, ...]:
    """The addresses that a sentence names, each once."""
    return tuple(dict.fromkeys(_URL.findall(sentence)))


class TokenCard(Card):
    """Signals:
    save_requested(str, str): keep this token for this endpoint.
    forget_requested(str): of this endpoint.
    """

    save_requested = Signal(str, str)
    forget_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._endpoint = ""
        self.title, self.state = QLabel(), QLabel()
        self.title.setFont(ui_font(1.1, bold=True))
        for label in (self.title, self.state):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
        self._links = FlowLayout()
        self.edit = QLineEdit()
        self.edit.setAcceptDrops(False)  # the window takes them
        self.edit.setEchoMode(QLineEdit.EchoMode.Password)
        self.edit.setPlaceholderText("hf_…")
        self.edit.setAccessibleName(self.tr("Token"))
        self.save_button = QPushButton(self.tr("Save and try again"))
        self.forget_button = QPushButton(self.tr("Forget the token"))
        self._build()

    @property
    def endpoint(self) -> str:
        """The hub whose token it is."""
        return self._endpoint

    def show_for(self, endpoint: str, sentence: str = "") -> None:
        """For a hub; the links of the `sentence` that it answered with can be clicked."""
        self._endpoint = endpoint
        host = endpoint.partition("://")[2]
        self.title.setText(self.tr("Token for {host}").format(host=host))
        self.state.setText(self.tr("It is sent to {host} and to no other.").format(host=host))
        set_role(self.state, "tone", "muted")
        self.edit.clear()
        self.forget_button.hide()
        clear_layout(self._links)
        for link in find_links(sentence) or (f"{endpoint}/settings/tokens",):
            self._links.addWidget(self._create_link(link))

    def show_origin(self, told: TokenTold) -> None:
        """Where the token of this hub is."""
        if told.endpoint != self._endpoint:
            return
        texts = {
            "none": self.tr("No token is kept."),
            "keyring": self.tr("A token is kept in the system's keyring."),
            "session": self.tr(
                "The system's keyring cannot be used: the token is kept until the program ends."
            ),
            "environment": self.tr("The token of HF_TOKEN or of a login is taken."),
        }
        host = told.endpoint.partition("://")[2]
        only = self.tr("It is sent to {host} and to no other.").format(host=host)
        self.state.setText(f"{texts[told.origin]} {only}")
        set_role(self.state, "tone", "warning" if told.origin == "session" else "muted")
        self.forget_button.setVisible(told.origin in ("keyring", "session"))

    def show_failed(self, failed: TokenFailed) -> None:
        """What was asked about the token of this hub did not succeed."""
        if failed.endpoint == self._endpoint:
            text = self.tr("The token could not be saved, forgotten or looked up: {reason}")
            self.state.setText(text.format(reason=shown(failed.error.message)))
            set_role(self.state, "tone", "danger")

    def _create_link(self, link: str) -> QPushButton:
        button = QPushButton(link.partition("://")[2])
        set_role(button, "kind", "link")
        button.setAccessibleName(self.tr("Open {link}").format(link=link))
        button.setToolTip(link)
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        button.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(link)))
        return button

    def _on_submitted(self) -> None:
        if token := self.edit.text().strip():
            self.edit.clear()
            self.save_requested.emit(self._endpoint, token)

    def _on_text_changed(self, text: str) -> None:
        self.save_button.setEnabled(bool(text.strip()))

    def _build(self) -> None:
        set_role(self.save_button, "kind", "primary")
        set_role(self.forget_button, "kind", "link")
        self.save_button.setEnabled(False)
        self.edit.textChanged.connect(self._on_text_changed)
        self.edit.returnPressed.connect(self._on_submitted)
        self.save_button.clicked.connect(self._on_submitted)
        self.forget_button.clicked.connect(lambda: self.forget_requested.emit(self._endpoint))
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(self.edit, 1)
        row.addWidget(self.save_button)
        foot = QHBoxLayout()
        foot.addWidget(self.state, 1)
        foot.addWidget(self.forget_button)
        self.rows.addWidget(self.title)
        self.rows.addLayout(self._links)
        self.rows.addLayout(row)
        self.rows.addLayout(foot)
