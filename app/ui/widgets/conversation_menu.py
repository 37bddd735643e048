"""What can be done with one conversation of the list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from app.chat.transcript import ConversationSummary
from app.ui.icons import create_icon


class ConversationMenu(QMenu):
    """Its dialogs belong to `parent`, and answer through it: keep it until the next one.

    Signals:
        pin_requested(conversation_id, bool)
        move_requested(conversation_id, folder): '' takes it out of its folder.
        rename_requested(conversation_id, title)
        duplicate_requested(conversation_id, title): the title of the copy.
        export_requested(conversation_id, suffix): `.md` or `.json`.
        delete_requested(conversation_id)
    """

    pin_requested = Signal(str, bool)
    move_requested = Signal(str, str)
    rename_requested = Signal(str, str)
    duplicate_requested = Signal(str, str)
    export_requested = Signal(str, str)
    delete_requested = Signal(str)

    def __init__(
        self, conversation: ConversationSummary, folders: Sequence[str], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._conversation = conversation
        self._id = conversation.conversation_id
        pin = self.tr("Unpin") if conversation.is_pinned else self.tr("Pin to the top")
        self.addAction(create_icon("pin"), pin, self._pin)
        self.addMenu(self._create_folder_menu(folders))
        self.addAction(create_icon("edit"), self.tr("Rename…"), self.rename)
        self.addAction(create_icon("copy"), self.tr("Duplicate"), self._duplicate)
        self.addMenu(self._create_export_menu())
        self.addSeparator()
        self.addAction(create_icon("trash"), self.tr("Delete"), self._delete)

    def rename(self) -> None:
        """Asks for another title."""
        dialog = self._ask(self.tr("Rename conversation"), self.tr("Title"))
        dialog.setTextValue(self._conversation.title)
        dialog.textValueSelected.connect(self._on_title_entered)
        dialog.open()

    def _create_folder_menu(self, folders: Sequence[str]) -> QMenu:
        menu = QMenu(self.tr("Folder"), self)
        current = self._conversation.folder
        for folder in folders:
            action = menu.addAction(folder, partial(self._move, folder))
            action.setCheckable(True)
            action.setChecked(folder == current)
        menu.addSeparator()
        if current:
            menu.addAction(self.tr("Take out of the folder"), lambda: self._move(""))
        menu.addAction(self.tr("New folder…"), self._ask_for_folder)
        return menu

    def _create_export_menu(self) -> QMenu:
        menu = QMenu(self.tr("Export"), self)
        menu.addAction(self.tr("As Markdown…"), lambda: self._export(".md"))
        menu.addAction(self.tr("As JSON, with all versions…"), lambda: self._export(".json"))
        return menu

    def _ask_for_folder(self) -> None:
        dialog = self._ask(self.tr("New folder"), self.tr("Name"))
        dialog.textValueSelected.connect(self._on_folder_entered)
        dialog.open()

    def _ask(self, title: str, label: str) -> QInputDialog:
        dialog = QInputDialog(self.parentWidget())
        dialog.setWindowTitle(title)
        dialog.setLabelText(label)
        dialog.finished.connect(dialog.deleteLater)
        return dialog

    def _on_title_entered(self, title: str) -> None:
        if title.strip():
            self.rename_requested.emit(self._id, title.strip())

    def _on_folder_entered(self, name: str) -> None:
        if name.strip():
            self._move(name.strip())

    def _pin(self) -> None:
        self.pin_requested.emit(self._id, not self._conversation.is_pinned)

    def _move(self, folder: str) -> None:
        self.move_requested.emit(self._id, folder)

    def _duplicate(self) -> None:
        title = self.tr("Copy of {title}").format(title=self._conversation.title)
        self.duplicate_requested.emit(self._id, title)

    def _export(self, suffix: str) -> None:
        self.export_requested.emit(self._id, suffix)

    def _delete(self) -> None:
        self.delete_requested.emit(self._id)
