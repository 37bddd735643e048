"""What the live plots show, as a table or a picture in a file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from app.controllers.file_saver import FileSaver
from app.core.errors import StorageError
from app.ui.dialogs.save_dialog import SaveDialog


class LiveExport(QObject):
    """Asks where to, takes what is there at that moment, and writes it on a thread.

    `saver` tells what became of it.
    """

    def __init__(self, panel: QWidget, to_csv: Callable[[], str]) -> None:
        super().__init__(panel)
        self._panel = panel
        self._to_csv = to_csv
        self.saver = FileSaver(self)

    def ask_for_table(self) -> None:
        """The numbers of the last ten minutes."""
        dialog = self._open(self.tr("Save the numbers"), self.tr("Table (*.csv)"), ".csv")
        dialog.path_chosen.connect(self.save_table)

    def ask_for_picture(self) -> None:
        """The panel as it looks."""
        dialog = self._open(self.tr("Save the picture"), self.tr("Picture (*.png)"), ".png")
        dialog.path_chosen.connect(self.save_picture)

    def save_table(self, path: Path) -> None:
        """Writes the table."""
        text = self._to_csv()
        self.saver.write(lambda: _write_text(path, text))

    def save_picture(self, path: Path) -> None:
        """Writes the picture."""
        image = self._panel.grab().toImage()
        self.saver.write(lambda: _write_image(path, image))

    def _open(self, title: str, name_filter: str, suffix: str) -> SaveDialog:
        file_name = f"deepinfer-{datetime.now():%Y%m%d-%H%M%S}{suffix}"
        dialog = SaveDialog(title, name_filter, file_name, self._panel)
        dialog.open()
        return dialog


def _write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def _write_image(path: Path, image: QImage) -> Path:
    if not image.save(str(path)):
        raise StorageError("The picture could not be saved as {path}.", path=path)
    return path
