"""All items of the library in groups; sorted by a click on a title, filtered by words."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QItemSelection,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor, QKeyEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from app.core.library_events import LibraryItem
from app.ui.item_models.library_model import (
    LibraryColumn,
    LibraryModel,
    LibraryRole,
)
from app.ui.theme import current_tokens

_ROW_HEIGHT = 36
_LEAST_NAME_WIDTH = 200
_WIDTHS = {
    LibraryColumn.SIZE: 100,
    LibraryColumn.FAMILY: 104,
    LibraryColumn.GRID: 118,
    LibraryColumn.USED: 104,
    LibraryColumn.PLACE: 200,
}
# Those that go first when the window is narrow.
_DISPENSABLE = (LibraryColumn.PLACE, LibraryColumn.FAMILY, LibraryColumn.USED)


class LibraryTable(QTreeView):
    """Signals:
    item_chosen(LibraryItem | None): the current row; None where there is none.
    activated_item(LibraryItem): Enter, or a double click.
    remove_requested(tuple[LibraryItem, ...]): Del.
    menu_requested(LibraryItem, QPoint): a right click, in global coordinates.
    """

    item_chosen = Signal(object)
    activated_item = Signal(object)
    remove_requested = Signal(object)
    menu_requested = Signal(object, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = LibraryModel(self)
        self.setModel(self._model)
        self.setItemDelegate(_ToneDelegate(self))
        self.setAccessibleName(self.tr("What is on this disk"))
        self._setup()
        self.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.activated.connect(self._on_activated)
        self.customContextMenuRequested.connect(self._on_menu_requested)

    @property
    def selected_items(self) -> tuple[LibraryItem, ...]:
        """What is selected, from top to bottom."""
        rows = self.selectionModel().selectedRows()
        items = (index.data(LibraryRole.ITEM) for index in sorted(rows))
        return tuple(item for item in items if item is not None)

    def set_items(self, items: Sequence[LibraryItem]) -> None:
        """Shows other items; what is selected stays so, where it still is."""
        selected = [item.key for item in self.selected_items]
        if self._model.set_items(items):
            self._show_groups()
            self._select(selected)
        self._tell_chosen()

    def set_words(self, text: str) -> None:
        """Shows only items that hold all words of `text`."""
        selected = [item.key for item in self.selected_items]
        if self._model.set_words(text):
            self._show_groups()
            self._select(selected)
        self._tell_chosen()

    def take_over(self, old: LibraryTable) -> None:
        """Sorts, selects and scrolls as `old` does."""
        head = old.header()
        self.sortByColumn(head.sortIndicatorSection(), head.sortIndicatorOrder())
        self._select([item.key for item in old.selected_items])
        value = old.verticalScrollBar().value()
        QTimer.singleShot(0, self, lambda: self.verticalScrollBar().setValue(value))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and self.selected_items:
            self.remove_requested.emit(self.selected_items)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()
        if self.selected_items:  # what is told of it takes room
            self.scrollTo(self.currentIndex())

    def _select(self, keys: Sequence[str]) -> None:
        mode = self.selectionModel().SelectionFlag
        for key in keys:
            index = self._model.index_of(key)
            if index.isValid():
                self.selectionModel().setCurrentIndex(index, mode.Select | mode.Rows)

    def _show_groups(self) -> None:
        for row in range(self._model.rowCount()):
            self.setFirstColumnSpanned(row, QModelIndex(), True)
        self.expandAll()

    def _fit_columns(self) -> None:
        """The name gets what the others leave; the least needed go when that is too little."""
        free = self.viewport().width() - sum(_WIDTHS.values())
        for column in _DISPENSABLE:
            is_hidden = free < _LEAST_NAME_WIDTH
            self.setColumnHidden(column, is_hidden)
            free += _WIDTHS[column] if is_hidden else 0
        name = max(free, _LEAST_NAME_WIDTH)
        spare = max(0, name - 2 * _LEAST_NAME_WIDTH) // 2
        has_place = not self.isColumnHidden(LibraryColumn.PLACE)
        for column, width in _WIDTHS.items():
            extra = spare if has_place and column is LibraryColumn.PLACE else 0
            self.setColumnWidth(column, width + extra)
        self.setColumnWidth(LibraryColumn.NAME, name - (spare if has_place else 0))

    def _on_selection_changed(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        self._tell_chosen()

    def _tell_chosen(self) -> None:
        items = self.selected_items
        self.item_chosen.emit(items[-1] if items else None)

    def _on_activated(self, index: QModelIndex | QPersistentModelIndex) -> None:
        item = index.data(LibraryRole.ITEM)
        if item is not None:
            self.activated_item.emit(item)

    def _on_menu_requested(self, position: QPoint) -> None:
        item = self.indexAt(position).data(LibraryRole.ITEM)
        if item is not None:
            self.menu_requested.emit(item, self.viewport().mapToGlobal(position))

    def _setup(self) -> None:
        self.setObjectName("library_table")
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setExpandsOnDoubleClick(False)
        self.setIndentation(0)
        self.setUniformRowHeights(True)
        self.setSortingEnabled(True)
        self.sortByColumn(LibraryColumn.SIZE, Qt.SortOrder.DescendingOrder)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        head = self.header()
        head.setStretchLastSection(False)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        head.setSectionsMovable(False)
        head.setAccessibleName(self.tr("Columns"))


class _ToneDelegate(QStyledItemDelegate):
    """Texts in the tone that the model names, also in a row that is selected."""

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        tokens = current_tokens()
        tone = index.data(LibraryRole.TONE) or "text"
        colour = QColor(getattr(tokens, tone))
        for role in (QPalette.ColorRole.Text, QPalette.ColorRole.HighlightedText):
            option.palette.setColor(role, colour)  # type: ignore[attr-defined,unused-ignore]
        # The row is marked as a whole; a frame around one of its cells says less.
        option.state &= ~QStyle.StateFlag.State_HasFocus  # type: ignore[attr-defined,unused-ignore]
        option.textElideMode = Qt.TextElideMode.ElideMiddle  # type: ignore[attr-defined,unused-ignore]

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        size = super().sizeHint(option, index)
        size.setHeight(max(size.height(), _ROW_HEIGHT))
        return size
