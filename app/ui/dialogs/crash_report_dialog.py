"""What was kept of a crash: to be read, copied, found or deleted; nothing is sent."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.core.crash_reports import delete_report, file_tail
from app.ui.theme import mono_font, set_role, ui_font
from app.ui.widgets.copy_button import CopyButton


class CrashReportDialog(QDialog):
    """Deletes itself when closed."""

    def __init__(self, path: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Crash report"))
        room = self.screen().availableSize() if parent is None else parent.size()
        self.resize(QSize(760, 560).boundedTo(room))
        self.text = QPlainTextEdit(file_tail(path) or self.tr("The report is not there any more."))
        self.open_button = QPushButton(self.tr("Open its folder"))
        self.delete_button = QPushButton(self.tr("Delete"))
        self.close_button = QPushButton(self.tr("Close"))
        self._build()
        self.open_button.clicked.connect(self._on_open_clicked)
        self.delete_button.clicked.connect(self._on_delete_clicked)
        self.close_button.clicked.connect(self.accept)

    def _on_open_clicked(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._path.parent)))

    def _on_delete_clicked(self) -> None:
        delete_report(self._path)
        self.accept()

    def _build(self) -> None:
        title = QLabel(self.tr("A part of the program crashed"))
        title.setFont(ui_font(1.15, bold=True))
        hint = QLabel(
            self.tr(
                "This report was saved on your computer and is sent nowhere. It holds no messages "
                "and no keys; add it when you report the crash."
            )
        )
        hint.setWordWrap(True)
        set_role(hint, "tone", "muted")
        self.text.setReadOnly(True)
        self.text.setFont(mono_font())
        self.text.setAccessibleName(self.tr("Crash report"))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        set_role(self.text, "kind", "field")
        set_role(self.close_button, "kind", "primary")
        self.close_button.setDefault(True)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        copy = CopyButton(self.text.toPlainText, self.tr("Copy the report"))
        buttons.addWidget(copy)
        buttons.addWidget(self.open_button)
        buttons.addWidget(self.delete_button)
        buttons.addStretch()
        buttons.addWidget(self.close_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 22, 24, 20)
        layout.setSpacing(12)
        for widget in (title, hint):
            layout.addWidget(widget)
        layout.addWidget(self.text, 1)
        layout.addLayout(buttons)
