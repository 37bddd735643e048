"""The port's state in the system's tray, with the window within reach."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QMenu, QSystemTrayIcon, QWidget

from app.controllers.server import ServerController, ServerState
from app.ui.icons import render_icon
from app.ui.server_labels import state_text
from app.ui.theme import LIGHT

_SIZE = 64
_DOT = 26
# The tray has a colour of its own, which no theme of ours knows: the dot brings its edge along.
_DOTS = {ServerState.ON: LIGHT.success, ServerState.FAILED: LIGHT.danger}


class Tray(QObject):
    """Shown where the desktop has a tray.

    Signals:
        show_requested: bring the window to the front.
        quit_requested: end the program, whatever the window would do.
    """

    show_requested = Signal()
    quit_requested = Signal()

    def __init__(self, server: ServerController, parent: QWidget) -> None:
        super().__init__(parent)
        self._server = server
        self.menu = QMenu(parent)
        self.show_action = self.menu.addAction("")
        self.menu.addSeparator()
        self.switch_action = self.menu.addAction("")
        self.switch_action.setCheckable(True)
        self.copy_action = self.menu.addAction("")
        self.menu.addSeparator()
        self.quit_action = self.menu.addAction("")
        self.icon = QSystemTrayIcon(parent)
        self.icon.setContextMenu(self.menu)
        self._connect()
        self.show_texts()

    @property
    def is_there(self) -> bool:
        """Whether the user can reach it."""
        return self.icon.isVisible() and QSystemTrayIcon.isSystemTrayAvailable()

    def show_texts(self) -> None:
        """In the language of now."""
        self.show_action.setText(self.tr("Show the window"))
        self.switch_action.setText(self.tr("OpenAI server"))
        self.copy_action.setText(self.tr("Copy the base URL"))
        self.quit_action.setText(self.tr("Quit"))
        self._on_state_changed(self._server.state)

    def start(self) -> None:
        """Shows it, where there is a tray; after the first paint, as a desktop is asked."""
        if QSystemTrayIcon.isSystemTrayAvailable():
            self.icon.show()

    def stop(self) -> None:
        """Takes it away: the tray would keep it until the mouse passes."""
        self.icon.hide()

    def tell_hidden(self) -> None:
        """The window has gone, the program has not."""
        text = self.tr("The server goes on; quit it here.")
        self.icon.showMessage("DeepInfer", text, QSystemTrayIcon.MessageIcon.Information)

    def _on_state_changed(self, state: ServerState) -> None:
        self.icon.setIcon(create_tray_icon(state))
        text = state_text(state, self._server.port)
        self.icon.setToolTip(self.tr("DeepInfer, server {state}").format(state=text))
        self.switch_action.setChecked(self._server.is_wanted)
        self.switch_action.setEnabled(state is not ServerState.STOPPING)
        self.copy_action.setEnabled(bool(self._server.base_url))

    def _on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in (
            QSystemTrayIcon.ActivationReason.Trigger,
            QSystemTrayIcon.ActivationReason.DoubleClick,
        ):
            self.show_requested.emit()

    def _on_copy_triggered(self) -> None:
        QGuiApplication.clipboard().setText(self._server.base_url)

    def _connect(self) -> None:
        self._server.state_changed.connect(self._on_state_changed)
        self.icon.activated.connect(self._on_activated)
        self.show_action.triggered.connect(self.show_requested)
        self.switch_action.triggered.connect(self._server.set_on)
        self.copy_action.triggered.connect(self._on_copy_triggered)
        self.quit_action.triggered.connect(self.quit_requested)


def create_tray_icon(state: ServerState) -> QIcon:
    """The program's icon, with a dot while the port is open or has failed."""
    picture = render_icon("app", "", _SIZE)
    if state in _DOTS:
        _paint_dot(picture, QColor(_DOTS[state]))
    return QIcon(picture)


def _paint_dot(picture: QPixmap, colour: QColor) -> None:
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    corner = _SIZE - _DOT
    for size, fill in ((_DOT, QColor("white")), (_DOT - 8, colour)):
        margin = (_DOT - size) / 2
        painter.setBrush(fill)
        painter.drawEllipse(QRectF(corner + margin, corner + margin, size, size))
    painter.end()
