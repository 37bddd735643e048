"""Items of the library in groups, one for each kind, as a tree of two levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)

from app.core.library_events import ItemKind, LibraryItem
from app.core.units import format_bytes
from app.ui.library_labels import (
    family_label,
    grid_text,
    kind_label,
    place_label,
    use_help,
    use_label,
)
from app.ui.theme import ui_font

Index = QModelIndex | QPersistentModelIndex

# In the order of their groups.
KINDS = (
    ItemKind.CHECKPOINT,
    ItemKind.SOURCE,
    ItemKind.DOWNLOAD,
    ItemKind.CONVERSION,
    ItemKind.DAMAGED,
    ItemKind.OTHER,
)
_GROUP = 0  # internal id of a group; an item has its group's number + 1


class LibraryColumn(IntEnum):
    """From left to right."""

    NAME = 0
    SIZE = 1
    FAMILY = 2
    GRID = 3
    USED = 4
    PLACE = 5


class LibraryRole(IntEnum):
    """What a view asks for besides texts."""

    ITEM = Qt.ItemDataRole.UserRole + 1
    SORT = Qt.ItemDataRole.UserRole + 2
    TEXT = Qt.ItemDataRole.UserRole + 3  # all that a filter looks at
    TONE = Qt.ItemDataRole.UserRole + 4


@dataclass(frozen=True, slots=True)
class _Column:
    text: Callable[[LibraryItem], str]
    sort_key: Callable[[LibraryItem], Any]


_COLUMNS = {
    LibraryColumn.NAME: _Column(lambda i: i.name, lambda i: i.name.casefold()),
    LibraryColumn.SIZE: _Column(lambda i: format_bytes(i.size_bytes), lambda i: i.size_bytes),
    LibraryColumn.FAMILY: _Column(lambda i: family_label(i.architecture), lambda i: i.architecture),
    LibraryColumn.GRID: _Column(grid_text, lambda i: i.grid.casefold()),
    LibraryColumn.USED: _Column(use_label, lambda i: i.used_s),
    LibraryColumn.PLACE: _Column(place_label, lambda i: place_label(i).casefold()),
}


class LibraryModel(QAbstractItemModel):
    """`set_items` replaces them all, keeping what is selected as far as the rows are the same."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._groups: list[tuple[ItemKind, list[LibraryItem]]] = []

    def set_items(self, items: Sequence[LibraryItem]) -> bool:
        """Shows other items; returns whether rows came or went, so that expansion is lost."""
        groups = [(kind, [i for i in items if i.kind is kind]) for kind in KINDS]
        groups = [(kind, members) for kind, members in groups if members]
        is_same = _keys(groups) == _keys(self._groups)
        if not is_same:
            self.beginResetModel()
        self._groups = groups
        if not is_same:
            self.endResetModel()
            return True
        for row in range(len(groups)):
            group = self.index(row, 0)
            last = self.index(len(groups[row][1]) - 1, len(LibraryColumn) - 1, group)
            self.dataChanged.emit(self.index(0, 0, group), last)
            self.dataChanged.emit(group, group)
        return False

    def index_of(self, key: str) -> QModelIndex:
        """Where an item stands; invalid where it does not."""
        for number, (_, members) in enumerate(self._groups):
            for row, item in enumerate(members):
                if item.key == key:
                    return self.index(row, 0, self.index(number, 0))
        return QModelIndex()

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else _GROUP)

    def parent(self, index: Index = QModelIndex()) -> Any:  # noqa: B008 - Qt's own signature
        if not index.isValid() or index.internalId() == _GROUP:
            return QModelIndex()
        return self.createIndex(index.internalId() - 1, 0, _GROUP)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        if not parent.isValid():
            return len(self._groups)
        if parent.internalId() != _GROUP or parent.column() != 0:
            return 0
        return len(self._groups[parent.row()][1])

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return len(LibraryColumn)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if index.isValid() and index.internalId() == _GROUP:
            return Qt.ItemFlag.ItemIsEnabled
        return super().flags(index)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self._titles()[LibraryColumn(section)]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if index.internalId() == _GROUP:
            return self._group_data(index, role)
        item = self._groups[index.internalId() - 1][1][index.row()]
        column = _COLUMNS[LibraryColumn(index.column())]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.text(item)
            case Qt.ItemDataRole.ToolTipRole:
                return _tool_tip(item, LibraryColumn(index.column()))
            case Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(index.column())
            case LibraryRole.ITEM:
                return item
            case LibraryRole.SORT:
                return column.sort_key(item)
            case LibraryRole.TEXT:
                return " ".join(c.text(item) for c in _COLUMNS.values()) + f" {item.path}"
            case LibraryRole.TONE:
                return _tone(item, index.column())
        return None

    def _group_data(self, index: Index, role: int) -> Any:
        kind, members = self._groups[index.row()]
        if role == Qt.ItemDataRole.DisplayRole and index.column() == 0:
            total = format_bytes(sum(item.size_bytes for item in members))
            return f"{kind_label(kind)}   {len(members)} · {total}"
        if role == Qt.ItemDataRole.FontRole:
            return ui_font(0.95, bold=True)
        if role == LibraryRole.TONE:
            return "muted"
        return index.row() if role == LibraryRole.SORT else None

    def _titles(self) -> dict[LibraryColumn, str]:
        return {
            LibraryColumn.NAME: self.tr("Name"),
            LibraryColumn.SIZE: self.tr("Size"),
            LibraryColumn.FAMILY: self.tr("Family"),
            LibraryColumn.GRID: self.tr("Bits"),
            LibraryColumn.USED: self.tr("Last used"),
            LibraryColumn.PLACE: self.tr("Where"),
        }


class LibraryFilter(QSortFilterProxyModel):
    """Sorts inside groups, which keep their order, and shows items that hold all words."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self.setSortRole(LibraryRole.SORT)
        self.setRecursiveFilteringEnabled(True)

    def set_words(self, text: str) -> None:
        """What every item shown has somewhere in its row."""
        self.beginResetModel()
        self._words = text.casefold().split()
        self.endResetModel()

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        if not parent.isValid():
            return False  # a group is there for its items
        text = self.sourceModel().index(row, 0, parent).data(LibraryRole.TEXT) or ""
        return all(word in text.casefold() for word in self._words)

    def lessThan(self, left: Index, right: Index) -> bool:
        if not left.parent().isValid():
            is_ascending = self.sortOrder() is Qt.SortOrder.AscendingOrder
            return (left.row() < right.row()) is is_ascending
        return bool(left.data(LibraryRole.SORT) < right.data(LibraryRole.SORT))


def _keys(groups: list[tuple[ItemKind, list[LibraryItem]]]) -> list[list[str]]:
    return [[item.key for item in members] for _, members in groups]


def _alignment(column: int) -> Qt.AlignmentFlag:
    is_number = column == LibraryColumn.SIZE
    side = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _tone(item: LibraryItem, column: int) -> str:
    if column == LibraryColumn.NAME:
        return "danger" if item.kind is ItemKind.DAMAGED else "text"
    return "muted"


def _tool_tip(item: LibraryItem, column: LibraryColumn) -> str:
    if column is LibraryColumn.USED:
        return use_help(item)
    if column is LibraryColumn.NAME and item.problem:
        return f"{item.name}\n{item.problem}"
    return str(item.path) if column is LibraryColumn.PLACE else item.name
