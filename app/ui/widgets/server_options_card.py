"""Which port, who may come in, and with which key."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSystemTrayIcon,
    QWidget,
)

from app.controllers.server import ServerController, ServerState
from app.core.keychain import KeyPlace
from app.core.settings import SETTING_FIELDS
from app.ui.theme import set_role, ui_font
from app.ui.widgets.calm_spin_box import CalmSpinBox
from app.ui.widgets.card import Card
from app.ui.widgets.secret_field import SecretField

_GROUP_GAP = 10  # pixels between an option and the next one's name


class ServerOptionsCard(Card):
    """Changes what the controller keeps; only while the port is closed."""

    def __init__(self, controller: ServerController, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._controller = controller
        self._title = QLabel(self.tr("Options"))
        self._title.setFont(ui_font(1.1, bold=True))
        self.locked = QLabel(self.tr("Turn the server off to change these."))
        self.port = CalmSpinBox()
        self.lan = QCheckBox(self.tr("Let other machines in"))
        self.autostart = QCheckBox(self.tr("Start with the program"))
        self.keep = QCheckBox(self.tr("Keep serving in the tray when the window is closed"), self)
        self.keep.setVisible(QSystemTrayIcon.isSystemTrayAvailable())
        self.key = SecretField(
            self.tr("API key"), self.tr("None: programs of this machine need no key")
        )
        self.generate_button = QPushButton(self.tr("Generate"))
        self.generate_button.setAccessibleDescription(self.tr("Makes a new key"))
        self.key_note, self.port_note = _create_note(), _create_note()
        self._build()
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Shows the options as they are now."""
        controller = self._controller
        is_open = controller.state not in (ServerState.OFF, ServerState.FAILED)
        for widget in (self.port, self.lan, self.generate_button):
            widget.setEnabled(not is_open)
        self.key.set_read_only(is_open)
        self.locked.setVisible(is_open)
        fields = (self.port, self.lan, self.autostart, self.keep)
        for field in fields:
            field.blockSignals(True)
        self.port.setValue(controller.port)
        self.lan.setChecked(controller.allows_lan)
        self.autostart.setChecked(controller.starts_with_program)
        self.keep.setChecked(controller.keeps_running)
        for field in fields:
            field.blockSignals(False)
        self.key.show_key(controller.api_key)
        self.key_note.setText(self._key_note())
        self.port_note.setText(self._port_note())

    def _key_note(self) -> str:
        if not self._controller.api_key:
            return self._no_key_note()
        places = {
            KeyPlace.NOWHERE: self.tr("It could not be kept, and ends with the program."),
            KeyPlace.KEYRING: self.tr("Kept in the system's keyring."),
            KeyPlace.FILE: self.tr(
                "The system's keyring cannot be used: kept in a file that only you can read."
            ),
        }
        place = self._controller.key_place
        where = places.get(place, "") if place else ""
        return f"{self.tr('Every client must send it.')} {where}".rstrip()

    def _no_key_note(self) -> str:
        if self._controller.key_place is KeyPlace.KEYRING:
            return self.tr(
                "The system's keyring does not let go of the key, it may be locked: the key comes "
                "back with the next start of the program."
            )
        return self.tr("Clients that insist on a key may send any.")

    def _port_note(self) -> str:
        if self._controller.allows_lan:
            return self.tr("Open to every machine of the local network.")
        return self.tr("On 127.0.0.1: nothing outside this machine reaches it.")

    def _on_port_changed(self, value: float) -> None:
        self._controller.set_port(round(value))

    def _connect(self) -> None:
        controller = self._controller
        self.port.valueChanged.connect(self._on_port_changed)
        self.lan.toggled.connect(controller.set_allows_lan)
        self.autostart.toggled.connect(controller.set_starts_with_program)
        self.keep.toggled.connect(controller.set_keeps_running)
        self.key.edited.connect(controller.set_api_key)
        self.generate_button.clicked.connect(controller.generate_key)
        controller.options_changed.connect(self.refresh)
        controller.state_changed.connect(self.refresh)

    def _build(self) -> None:
        declared = SETTING_FIELDS["server_port"].metadata
        self.port.setDecimals(0)
        self.port.setRange(declared["least"], declared["most"])
        self.port.setKeyboardTracking(False)
        self.port.setFixedWidth(110)
        self.port.lineEdit().setTextMargins(7, 2, 4, 2)
        self.port.lineEdit().setAcceptDrops(False)
        self.port.setAccessibleName(self.tr("Port"))
        set_role(self.locked, "tone", "muted")
        head = QHBoxLayout()
        head.addWidget(self._title, 1)
        head.addWidget(self.locked)
        self.rows.addLayout(head)
        self.rows.addLayout(self._create_grid())

    def _create_grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        far = self.tr(
            "Opens the port to the local network; then a key is demanded. The connection is not "
            "encrypted: anybody on the way can read it."
        )
        left = Qt.AlignmentFlag.AlignLeft
        _add_rows(grid, self.tr("Port"), self.port, self.port_note, left)
        _add_rows(grid, self.tr("API key"), self._create_key_row(), self.key_note)
        _add_rows(grid, self.tr("Network"), self.lan, _create_note(far), left)
        _add_rows(grid, "", self.autostart, None, left)
        if QSystemTrayIcon.isSystemTrayAvailable():
            _add_rows(grid, "", self.keep, None, left)
        return grid

    def _create_key_row(self) -> QWidget:
        box = QWidget()
        row = QHBoxLayout(box)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.key, 1)
        row.addWidget(self.generate_button)
        return box


def _add_rows(
    grid: QGridLayout,
    name: str,
    field: QWidget,
    note: QLabel | None,
    alignment: Qt.AlignmentFlag = Qt.AlignmentFlag(0),  # noqa: B008 - a constant
) -> None:
    row = grid.rowCount()
    label = QLabel(name)
    label.setBuddy(field)
    grid.addWidget(label, row, 0)
    grid.addWidget(field, row, 1, alignment)
    if note is not None:
        grid.addWidget(note, row + 1, 1)
        grid.setRowMinimumHeight(row + 2, _GROUP_GAP)


def _create_note(text: str = "") -> QLabel:
    label = QLabel(text)
    label.setWordWrap(True)
    label.setFont(ui_font(0.92))
    set_role(label, "tone", "muted")
    return label
