"""Which version of a turn is shown, and the way to its others."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.chat.transcript import Turn
from app.ui.icons import IconButton
from app.ui.theme import set_role, ui_font


class VersionSwitch(QWidget):
    """Hidden where there is one version alone.

    Signals:
        requested(int): so many versions on, or back where negative.
    """

    requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.earlier_button = IconButton("chevron_left", self.tr("Earlier version"), size=16)
        self.later_button = IconButton("chevron_right", self.tr("Later version"), size=16)
        self.label = QLabel()
        self.label.setFont(ui_font(0.88))
        set_role(self.label, "tone", "muted")
        self.earlier_button.clicked.connect(lambda: self.requested.emit(-1))
        self.later_button.clicked.connect(lambda: self.requested.emit(1))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        for widget in (self.earlier_button, self.label, self.later_button):
            layout.addWidget(widget)
        self.hide()

    def show_turn(self, turn: Turn) -> None:
        """Counts this turn among its versions."""
        self.label.setText(f"{turn.version} / {turn.num_versions}")
        self.label.setAccessibleName(
            self.tr("Version {n} of {total}").format(n=turn.version, total=turn.num_versions)
        )
        self.earlier_button.setEnabled(turn.version > 1)
        self.later_button.setEnabled(turn.version < turn.num_versions)
        self.setVisible(turn.num_versions > 1)
