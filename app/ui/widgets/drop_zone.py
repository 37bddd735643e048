"""The empty Convert page: a large target that says what it takes."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.ui.icons import IconLabel
from app.ui.theme import current_tokens, set_role, ui_font

_TEXT_WIDTH = 520


class DropZone(QWidget):
    """The drop itself is taken by the whole window.

    Signals:
        file_requested, folder_requested: pick by dialog.
        starter_requested: take the starter model.
    """

    file_requested = Signal()
    folder_requested = Signal()
    starter_requested = Signal()

    def __init__(self, *, has_starter: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMinimumHeight(380)
        self.file_button = QPushButton(self.tr("Choose a file…"))
        self.folder_button = QPushButton(self.tr("Choose a folder…"))
        self.starter_button = QPushButton(self.tr("No file at hand? Use the starter model"))
        self.starter_button.setVisible(has_starter)
        self._build()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(QColor(tokens.surface))
        painter.setPen(QPen(QColor(tokens.control_border), 1.5, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 16, 16)

    def _build(self) -> None:
        set_role(self.file_button, "kind", "primary")
        set_role(self.starter_button, "kind", "link")
        self.file_button.setToolTip(self.tr("Ctrl+O"))
        self.file_button.clicked.connect(self.file_requested)
        self.folder_button.clicked.connect(self.folder_requested)
        self.starter_button.clicked.connect(self.starter_requested)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(32, 32, 32, 32)
        layout.setSpacing(12)
        layout.addStretch()
        layout.addWidget(
            IconLabel("drop", size=56, tone="accent"), alignment=Qt.AlignmentFlag.AlignHCenter
        )
        for label in self._create_texts():
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            label.setWordWrap(True)
            label.setMaximumWidth(_TEXT_WIDTH)
            layout.addWidget(label)
        layout.addSpacing(6)
        layout.addLayout(self._create_buttons())
        layout.addWidget(self.starter_button, alignment=Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch()

    def _create_texts(self) -> tuple[QLabel, QLabel]:
        title = QLabel(self.tr("Drop a .gguf file or a model folder"))
        title.setFont(ui_font(1.5, bold=True))
        hint = QLabel(
            self.tr(
                "It becomes one native checkpoint, layer by layer. "
                "You see the plan at once and a quality report at the end. "
                "The file you drop is only read."
            )
        )
        set_role(hint, "tone", "muted")
        return title, hint

    def _create_buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addStretch()
        row.addWidget(self.file_button)
        row.addWidget(self.folder_button)
        row.addStretch()
        return row
