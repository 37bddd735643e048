"""The empty Convert page: a large target that says what it takes."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QWidget

from app.ui.theme import current_tokens, set_role
from app.ui.widgets.empty_state import EmptyState


class DropZone(EmptyState):
    """The drop itself is taken by the whole window.

    Signals:
        file_requested, folder_requested: pick by dialog.
        starter_requested: take the starter model.
    """

    file_requested = Signal()
    folder_requested = Signal()
    starter_requested = Signal()

    def __init__(self, *, has_starter: bool, parent: QWidget | None = None) -> None:
        translate = QCoreApplication.translate
        super().__init__(
            "drop",
            translate("DropZone", "Drop a .gguf file or a model folder"),
            translate(
                "DropZone",
                "It becomes one native checkpoint, layer by layer. "
                "You see the plan at once and a quality report at the end. "
                "The file you drop is only read.",
            ),
            parent,
        )
        self.setMinimumHeight(380)
        self.file_button = QPushButton(self.tr("Choose a file…"))
        self.folder_button = QPushButton(self.tr("Choose a folder…"))
        self.starter_button = QPushButton(self.tr("No file at hand? Use the starter model"))
        set_role(self.file_button, "kind", "primary")
        self.file_button.setToolTip(self.tr("Ctrl+O"))
        self.file_button.clicked.connect(self.file_requested)
        self.folder_button.clicked.connect(self.folder_requested)
        self.starter_button.clicked.connect(self.starter_requested)
        self.add_buttons((self.file_button, self.folder_button), below=self.starter_button)
        self.starter_button.setVisible(has_starter)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(QColor(tokens.surface))
        painter.setPen(QPen(QColor(tokens.control_border), 1.5, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 16, 16)
