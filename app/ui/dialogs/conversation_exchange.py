"""Asks for the file that conversations go to or come from."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from app.controllers.conversation_list import ConversationList
from app.ui.dialogs.save_dialog import SaveDialog, file_name_of
from app.ui.widgets.conversation_panel import ConversationPanel


class ConversationExchange(QObject):
    """Dialogs over `parent`; the controller reads and writes."""

    def __init__(self, conversations: ConversationList, parent: QWidget) -> None:
        super().__init__(parent)
        self._list = conversations
        self._parent = parent

    def connect_panel(self, panel: ConversationPanel) -> None:
        """Answers what the panel asks for."""
        panel.duplicate_requested.connect(self._list.duplicate)
        panel.export_requested.connect(self.ask_for_export)
        panel.import_requested.connect(self.ask_for_import)

    def ask_for_export(self, conversation_id: str, suffix: str) -> None:
        """Of one conversation, or of all for ''; `.md` or `.json`."""
        filters = {".md": self.tr("Markdown (*.md)"), ".json": self.tr("Conversations (*.json)")}
        titles = {row.conversation_id: row.title for row in self._list.conversations()}
        otherwise = self.tr("conversation") if conversation_id else self.tr("conversations")
        name = file_name_of(titles.get(conversation_id, ""), otherwise)
        title = self.tr("Export conversations")
        dialog = SaveDialog(title, filters[suffix], name + suffix, self._parent)
        dialog.path_chosen.connect(lambda path: self._export(conversation_id, suffix, path))
        dialog.open()

    def ask_for_import(self) -> None:
        """Of a file that was exported, or of a list of messages."""
        dialog = QFileDialog(self._parent)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(self.tr("Import conversations"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("Conversations (*.json)")])
        dialog.fileSelected.connect(lambda name: self._list.import_json(Path(name)))
        dialog.open()

    def _export(self, conversation_id: str, suffix: str, path: Path) -> None:
        if suffix == ".md":
            self._list.export_markdown(conversation_id, path)
        else:
            self._list.export_json((conversation_id,) if conversation_id else (), path)
