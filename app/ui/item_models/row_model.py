"""A read-only table over rows of any kind: columns are declared, not coded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.ui.sentences import shown

Index = QModelIndex | QPersistentModelIndex

SORT_ROLE = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True, slots=True)
class Column:
    """`text` shows a row; `sort_key` orders it; numbers stand on the right. Where a table is too
    narrow, those that give way are hidden, the highest first; 0 stays.
    """

    title: str
    text: Callable[[Any], str]
    sort_key: Callable[[Any], Any] | None = None
    tool_tip: Callable[[Any], str] | None = None
    is_number: bool = False
    gives_way: int = 0


class RowModel(QAbstractTableModel):
    """Rows are immutable; `set_rows` replaces them all."""

    def __init__(self, columns: Sequence[Column], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._rows: tuple[Any, ...] = ()

    def set_rows(self, rows: Sequence[Any]) -> None:
        """Shows other rows."""
        self.beginResetModel()
        self._rows = tuple(rows)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self._columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._columns[section].title
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(self._columns[section])
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self._rows[index.row()], self._columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return shown(column.text(row))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return shown(column.tool_tip(row)) if column.tool_tip else None
        if role == SORT_ROLE:
            return column.sort_key(row) if column.sort_key else column.text(row)
        return None

    def _alignment(self, column: Column) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter
