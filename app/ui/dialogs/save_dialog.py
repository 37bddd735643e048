"""Asks where to save something."""

from __future__ import annotations

import re
from pathlib import Path, PureWindowsPath

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

# What no file name may hold on Windows, or anywhere; what is longer is cut.
_NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]+')
_MAX_NAME_CHARS = 80


def file_name_of(title: str, otherwise: str) -> str:
    """The title as a file name without its suffix; `otherwise` where nothing is left of it."""
    name = " ".join(_NOT_IN_NAMES.sub(" ", title).split())[:_MAX_NAME_CHARS].strip(" .")
    is_usable = bool(name) and not PureWindowsPath(name).is_reserved()
    return name if is_usable else otherwise


class SaveDialog(QFileDialog):
    """The platform's own dialog; deletes itself when closed. `name_filter` is Qt's, `*.csv`-like.

    Signals:
        path_chosen(Path)
    """

    path_chosen = Signal(object)

    def __init__(
        self, title: str, name_filter: str, file_name: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        self.setFileMode(QFileDialog.FileMode.AnyFile)
        self.setNameFilters([name_filter])
        self.setDefaultSuffix(Path(file_name).suffix.removeprefix("."))
        self.selectFile(file_name)
        self.fileSelected.connect(self._on_file_selected)

    def _on_file_selected(self, name: str) -> None:
        self.path_chosen.emit(Path(name))
