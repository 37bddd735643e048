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
from app.ui.sentences import shown
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
_Group = tuple[ItemKind, list[LibraryItem]]
# Behind a title at the right, where the arrow of its order is drawn: else it lies on the word.
_ARROW_ROOM = "\N{NO-BREAK SPACE}" * 4
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
    TONE = Qt.ItemDataRole.UserRole + 2


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

_IN_ORDER = tuple(_COLUMNS[column] for column in LibraryColumn)
_ALIGNMENTS = (
    Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
    Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
)
_ANSWERED = frozenset(
    {
        int(Qt.ItemDataRole.DisplayRole),
        int(Qt.ItemDataRole.ToolTipRole),
        int(Qt.ItemDataRole.TextAlignmentRole),
        int(Qt.ItemDataRole.FontRole),
        int(LibraryRole.ITEM),
        int(LibraryRole.TONE),
    }
)


class LibraryModel(QAbstractItemModel):
    """Groups keep their order; `sort` is inside them, `set_words` leaves what holds all words.

    Sorted and filtered here, on plain lists: a proxy asks for thousands of values one by one, which
    holds up the window for a second.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: tuple[LibraryItem, ...] = ()
        self._words: list[str] = []
        self._column, self._is_descending = LibraryColumn.SIZE, True
        self._groups: list[_Group] = []

    def set_items(self, items: Sequence[LibraryItem]) -> bool:
        """Shows other items; returns whether rows came, went or moved: a view expands them anew."""
        self._items = tuple(items)
        return self._arrange()

    def set_words(self, text: str) -> bool:
        """Shows only items that hold all words of `text`; returns as `set_items`."""
        self._words = text.casefold().split()
        return self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Orders the items of each group; what is selected stays so."""
        self._column = LibraryColumn(column)
        self._is_descending = order is Qt.SortOrder.DescendingOrder
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        items = [(self.data(index, LibraryRole.ITEM), index) for index in before]
        for _, members in self._groups:
            self._sort(members)
        after = [
            self.index_of(item.key).siblingAtColumn(index.column()) if item else index
            for item, index in items
        ]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def _arrange(self) -> bool:
        groups = []
        for kind in KINDS:
            members = [i for i in self._items if i.kind is kind and self._holds_words(i)]
            self._sort(members)
            if members:
                groups.append((kind, members))
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

    def _sort(self, members: list[LibraryItem]) -> None:
        members.sort(key=_COLUMNS[LibraryColumn.NAME].sort_key)
        members.sort(key=_COLUMNS[self._column].sort_key, reverse=self._is_descending)

    def _holds_words(self, item: LibraryItem) -> bool:
        if not self._words:
            return True
        text = " ".join(column.text(item) for column in _COLUMNS.values())
        text = f"{text} {item.path}".casefold()
        return all(word in text for word in self._words)

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
            is_sorted_number = section == LibraryColumn.SIZE == self._column
            return self._titles()[LibraryColumn(section)] + _ARROW_ROOM * is_sorted_number
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _ALIGNMENTS[section == LibraryColumn.SIZE]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role not in _ANSWERED:  # asked for each cell and for each of a dozen roles
            return None
        number = index.internalId()
        if number == _GROUP:
            return self._group_data(index, role)
        item, column = self._groups[number - 1][1][index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return _IN_ORDER[column].text(item)
        if role == Qt.ItemDataRole.ToolTipRole:
            return _tool_tip(item, LibraryColumn(column))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _ALIGNMENTS[column == LibraryColumn.SIZE]
        if role == LibraryRole.ITEM:
            return item
        return _tone(item, column) if role == LibraryRole.TONE else None

    def _group_data(self, index: Index, role: int) -> Any:
        kind, members = self._groups[index.row()]
        if role == Qt.ItemDataRole.DisplayRole and index.column() == 0:
            total = format_bytes(sum(item.size_bytes for item in members))
            return f"{kind_label(kind)}   {len(members)} · {total}"
        if role == Qt.ItemDataRole.FontRole:
            return ui_font(0.95, bold=True)
        return "muted" if role == LibraryRole.TONE else None

    def _titles(self) -> dict[LibraryColumn, str]:
        return {
            LibraryColumn.NAME: self.tr("Name"),
            LibraryColumn.SIZE: self.tr("Size"),
            LibraryColumn.FAMILY: self.tr("Family"),
            LibraryColumn.GRID: self.tr("Bits"),
            LibraryColumn.USED: self.tr("Last used"),
            LibraryColumn.PLACE: self.tr("Where"),
        }


def _keys(groups: list[_Group]) -> list[list[str]]:
    return [[item.key for item in members] for _, members in groups]


def _tone(item: LibraryItem, column: int) -> str:
    if column == LibraryColumn.NAME:
        return "danger" if item.kind is ItemKind.DAMAGED else "text"
    return "muted"


def _tool_tip(item: LibraryItem, column: LibraryColumn) -> str:
    if column is LibraryColumn.USED:
        return use_help(item)
    if column is LibraryColumn.NAME and item.problem:
        return f"{item.name}\n{shown(item.problem)}"
    return str(item.path) if column is LibraryColumn.PLACE else item.name
