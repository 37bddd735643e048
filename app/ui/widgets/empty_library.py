"""Nothing is on this disk yet: where models come from."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.ui.theme import set_role
from app.ui.widgets.empty_state import EmptyState


class EmptyLibrary(EmptyState):
    """Signals:
    download_requested, starter_requested, pick_requested, folder_requested
    """

    download_requested = Signal()
    starter_requested = Signal()
    pick_requested = Signal()
    folder_requested = Signal()

    def __init__(self, *, has_starter: bool, parent: QWidget | None = None) -> None:
        translate = QCoreApplication.translate
        super().__init__(
            "library",
            translate("EmptyLibrary", "No model on this disk yet"),
            translate(
                "EmptyLibrary",
                "Converted models, what can be converted, and downloads that have not arrived show "
                "up here, also those that other programs left in the Hugging Face cache.",
            ),
            parent,
        )
        self.download_button = QPushButton(self.tr("Download a model"))
        self.starter_button = QPushButton(self.tr("Open the starter model"))
        self.pick_button = QPushButton(self.tr("Choose a file…"))
        self.folder_button = QPushButton(self.tr("List a folder of mine…"))
        set_role(self.download_button, "kind", "primary")
        self.download_button.clicked.connect(self.download_requested)
        self.starter_button.clicked.connect(self.starter_requested)
        self.pick_button.clicked.connect(self.pick_requested)
        self.folder_button.clicked.connect(self.folder_requested)
        buttons = (self.download_button, self.starter_button, self.pick_button)
        self.add_buttons(buttons, below=self.folder_button)
        self.starter_button.setVisible(has_starter)
