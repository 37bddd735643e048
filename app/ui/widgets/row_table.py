"""A calm table: whole rows, no grid, as tall as its rows or scrolling beyond a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QSortFilterProxyModel, Qt
from PySide6.QtGui import QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyleOptionHeader,
    QTableView,
    QWidget,
)

from app.ui.item_models.row_model import SORT_ROLE, Column, RowModel

_LEAST_FIRST_WIDTH = 170
_FRAME_HEIGHT, _SCROLL_BAR_HEIGHT = 4, 14


class _Head(QHeaderView):
    """The arrow of the sorted column stands behind a title on the left: at the far end of its
    column it would stand before the next title.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setSectionsClickable(True)

    def initStyleOptionForIndex(self, option: QStyleOptionHeader, section: int) -> None:
        super().initStyleOptionForIndex(option, section)
        is_sorted = self.isSortIndicatorShown() and section == self.sortIndicatorSection()
        if is_sorted and option.textAlignment & Qt.AlignmentFlag.AlignLeft:
            is_rising = self.sortIndicatorOrder() is Qt.SortOrder.AscendingOrder
            option.sortIndicator = QStyleOptionHeader.SortIndicator.None_
            option.text = f"{option.text} {'▾' if is_rising else '▴'}"


class RowTable(QTableView):
    """Sortable by a click on a title when `is_sortable`; shows at most `max_rows` rows at once."""

    def __init__(
        self,
        columns: Sequence[Column],
        accessible_name: str,
        *,
        max_rows: int = 12,
        is_sortable: bool = False,
        is_first_wide: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._max_rows = max_rows
        self._rows = RowModel(columns, self)
        giving = [(column.gives_way, at) for at, column in enumerate(columns) if column.gives_way]
        self._giving_way = [at for _, at in sorted(giving, reverse=True)]
        proxy = QSortFilterProxyModel(self)
        proxy.setSourceModel(self._rows)
        proxy.setSortRole(SORT_ROLE)
        self.setHorizontalHeader(_Head(self))
        self.setModel(proxy)
        self.setAccessibleName(accessible_name)
        self.setSortingEnabled(is_sortable)
        if is_sortable:
            self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self._is_first_wide = is_first_wide
        self._setup_view()
        if is_first_wide:
            self._make_room_for_first_column()

    def set_rows(self, rows: Sequence[Any]) -> None:
        """Shows rows and fits the height to them."""
        self._rows.set_rows(rows)
        self._fit()

    def text(self) -> str:
        """Titles and all rows as they are shown and sorted, as a Markdown table."""
        model = self.model()
        columns = range(model.columnCount())
        titles = [str(model.headerData(c, Qt.Orientation.Horizontal)) for c in columns]
        rows = [
            [str(model.index(row, column).data()) for column in columns]
            for row in range(model.rowCount())
        ]
        lines = [titles, ["---"] * len(titles), *rows]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.verticalScrollBar().maximum() > 0:
            super().wheelEvent(event)
        else:
            event.ignore()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self._spread()
        self._widen_first_column()
        num_rows = min(self._rows.rowCount(), self._max_rows)
        is_wider = self.horizontalHeader().length() > self.viewport().width()
        spare = _FRAME_HEIGHT + (_SCROLL_BAR_HEIGHT if is_wider else 0)
        heights = sum(self.rowHeight(row) for row in range(num_rows))
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + heights + spare)

    def _spread(self) -> None:
        """Columns of one width, where all of them can be read then: else each has what it needs,
        some give way, and if that is not enough the table scrolls.
        """
        if self._is_first_wide:
            return
        head, columns = self.horizontalHeader(), range(self.horizontalHeader().count())
        for column in self._giving_way:
            self.setColumnHidden(column, False)
        needs = [max(head.sectionSizeHint(c), self.sizeHintForColumn(c)) for c in columns]
        width = self.viewport().width()
        if max(needs, default=0) * head.count() <= width:
            head.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
            return
        for column in self._giving_way:
            if sum(needs) > width:
                needs[column] = 0
                self.setColumnHidden(column, True)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        kept = [column for column in columns if needs[column]]
        spare = max(0, width - sum(needs)) // len(kept)
        for column in kept:
            head.resizeSection(column, needs[column] + spare)

    def _make_room_for_first_column(self) -> None:
        head = self.horizontalHeader()
        # Measuring 200 rows took 50 ms, twice those that are seen at once 6.
        head.setResizeContentsPrecision(2 * self._max_rows)
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        head.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)

    def _widen_first_column(self) -> None:
        """All that the others leave, but so much that it can be read: for that some give way, and
        if it is not enough the table scrolls.
        """
        if not self._is_first_wide:
            return
        head = self.horizontalHeader()
        for column in self._giving_way:
            self.setColumnHidden(column, False)
        others = sum(head.sectionSize(column) for column in range(1, head.count()))
        for column in self._giving_way:
            if others + _LEAST_FIRST_WIDTH > self.viewport().width():
                others -= head.sectionSize(column)
                self.setColumnHidden(column, True)
        self.setColumnWidth(0, max(_LEAST_FIRST_WIDTH, self.viewport().width() - others))

    def _setup_view(self) -> None:
        self.setShowGrid(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(34)
        head = self.horizontalHeader()
        head.setHighlightSections(False)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        head.setAccessibleName(self.tr("Columns"))
        self.verticalHeader().setAccessibleName(self.tr("Rows"))
