"""Where the library shall be: one folder, with what the move means."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from app.ui.dialogs.fitting_dialog import FittingDialog
from app.ui.theme import set_role, ui_font


class MoveLibraryDialog(FittingDialog):
    """Deletes itself when closed.

    Signals:
        folder_chosen(Path): move the library there.
    """

    folder_chosen = Signal(object)

    def __init__(self, library_dir: Path, parent: QWidget | None = None) -> None:
        super().__init__(560, parent)
        self._library_dir = library_dir
        self.setWindowTitle(self.tr("Move the library"))
        self.field = QLineEdit()
        self.field.setAccessibleName(self.tr("New folder"))
        self.field.setPlaceholderText(self.tr("New folder"))
        self.browse_button = QPushButton(self.tr("Browse…"))
        self.browse_button.setAccessibleDescription(self.tr("Choose the new folder"))
        self.move_button = QPushButton(self.tr("Move"))
        self.cancel_button = QPushButton(self.tr("Cancel"))
        self._build()
        self._on_field_changed("")

    def _on_field_changed(self, text: str) -> None:
        path = Path(text.strip())
        is_other = bool(text.strip()) and path.is_absolute() and path != self._library_dir
        self.move_button.setEnabled(is_other)

    def _on_browse_clicked(self) -> None:
        dialog = QFileDialog(self, self.tr("Choose the library's folder"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.field.setText)
        dialog.open()

    def _on_move_clicked(self) -> None:
        self.folder_chosen.emit(Path(self.field.text().strip()))
        self.accept()

    def _build(self) -> None:
        title = QLabel(self.tr("Move the library"))
        title.setFont(ui_font(1.15, bold=True))
        now = QLabel(self.tr("It is in {path} now.").format(path=self._library_dir))
        text = QLabel(
            self.tr(
                "Models go to the new folder, where those that are converted from now on will be, "
                "too. On another disk they are copied, compared byte for byte, and only then "
                "removed here. Unload a model that is in use first."
            )
        )
        for label in (now, text):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        set_role(text, "tone", "muted")
        set_role(self.move_button, "kind", "primary")
        self.move_button.setDefault(True)
        self.field.textChanged.connect(self._on_field_changed)
        self.browse_button.clicked.connect(self._on_browse_clicked)
        self.move_button.clicked.connect(self._on_move_clicked)
        self.cancel_button.clicked.connect(self.reject)
        folder, buttons = QHBoxLayout(), QHBoxLayout()
        folder.addWidget(self.field, 1)
        folder.addWidget(self.browse_button)
        buttons.addStretch()
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.move_button)
        self.rows.setSpacing(12)
        for widget in (title, now, text):
            self.rows.addWidget(widget)
        self.rows.addLayout(folder)
        self.close_rows(buttons)
