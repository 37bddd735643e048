"""The conversation list as an item model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.chat.transcript import ConversationSummary
from app.ui.formats import format_moment

Index = QModelIndex | QPersistentModelIndex


class ConversationRole(IntEnum):
    """What the delegate asks for besides the title."""

    ID = Qt.ItemDataRole.UserRole + 1
    MOMENT = Qt.ItemDataRole.UserRole + 2
    IS_PINNED = Qt.ItemDataRole.UserRole + 3
    SUMMARY = Qt.ItemDataRole.UserRole + 4


class ConversationModel(QAbstractListModel):
    """Rows are `ConversationSummary`, in the order of the store."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[ConversationSummary, ...] = ()

    def set_rows(self, rows: Sequence[ConversationSummary]) -> None:
        """Shows another list."""
        self.beginResetModel()
        self._rows = tuple(rows)
        self.endResetModel()

    def row_of(self, conversation_id: str) -> int | None:
        """Where a conversation stands."""
        ids = [row.conversation_id for row in self._rows]
        return ids.index(conversation_id) if conversation_id in ids else None

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.title
        if role == ConversationRole.ID:
            return row.conversation_id
        if role == ConversationRole.MOMENT:
            return _moment(row)
        if role == ConversationRole.IS_PINNED:
            return row.is_pinned
        return row if role == ConversationRole.SUMMARY else None


def _moment(row: ConversationSummary) -> str:
    moment = format_moment(row.updated.astimezone(), datetime.now().astimezone())
    return f"{row.folder}  ·  {moment}" if row.folder else moment
