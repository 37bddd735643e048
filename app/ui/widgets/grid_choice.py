"""The grids to choose from, each with one sentence, and what belongs to some of them."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from app.controllers.conversion_job import ConversionOptions
from app.ui.grid_labels import GRIDS, GROUP_SIZES, QUANTIZING_GRIDS, grid_help, grid_label
from app.ui.theme import set_role
from app.ui.widgets.calm_spin_box import CalmSpinBox

_MIB = 1 << 20
# What a card with 4 GiB has left beside the desktop.
_DEFAULT_BUDGET_MIB = 3500
_INDENT = 24  # where a radio button's text begins


class GridChoice(QWidget):
    """Signals:
    changed: the user chose something else.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.grids = {grid: QRadioButton(grid_label(grid)) for grid in GRIDS}
        self.group_sizes = {size: QRadioButton(str(size)) for size in GROUP_SIZES}
        self.budget = CalmSpinBox()
        self.allow_lossy = QCheckBox(self.tr("Accept weights that 8 bits do not hold well"))
        self._group_label = QLabel(self.tr("Group size"))
        self._budget_row = QWidget()
        self._build()
        self._connect()
        self.set_options(ConversionOptions())

    @property
    def grid(self) -> str:
        """The grid that is chosen."""
        return next(grid for grid, button in self.grids.items() if button.isChecked())

    def options(self) -> ConversionOptions:
        """What is chosen, without what is to be measured."""
        is_budgeted = self.grid == "w3w4"
        return ConversionOptions(
            grid=self.grid,
            group_size=next(s for s, button in self.group_sizes.items() if button.isChecked()),
            vram_budget=round(self.budget.value() * _MIB) if is_budgeted else None,
            allow_lossy=self.allow_lossy.isChecked(),
        )

    def set_options(self, options: ConversionOptions) -> None:
        """Shows options; not told as a change."""
        blocked = self.blockSignals(True)
        self.grids[options.grid].setChecked(True)
        self.group_sizes[options.group_size].setChecked(True)
        self.allow_lossy.setChecked(options.allow_lossy)
        if options.vram_budget is not None:
            self.budget.setValue(options.vram_budget / _MIB)
        self._refresh()
        self.blockSignals(blocked)

    def _on_clicked(self) -> None:
        self._refresh()
        self.changed.emit()

    def _refresh(self) -> None:
        self._budget_row.setVisible(self.grid == "w3w4")
        has_groups = self.grid in QUANTIZING_GRIDS
        for widget in (self._group_label, *self.group_sizes.values()):
            widget.setEnabled(has_groups)

    def _build(self) -> None:
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(10)
        for grid, button in self.grids.items():
            rows.addLayout(self._create_row(grid, button))
            if grid == "w3w4":
                self._fill_budget_row()
                rows.addWidget(self._budget_row)
        rows.addSpacing(2)
        rows.addLayout(self._create_group_row())
        self.allow_lossy.setToolTip(
            self.tr("Otherwise a conversion that loses more than 2 % at 8 bits is refused.")
        )
        rows.addWidget(self.allow_lossy)

    def _create_row(self, grid: str, button: QRadioButton) -> QVBoxLayout:
        button.setAccessibleDescription(grid_help(grid))
        row = QVBoxLayout()
        row.setSpacing(1)
        row.addWidget(button)
        row.addWidget(_HelpLabel(grid_help(grid), button))
        return row

    def _fill_budget_row(self) -> None:
        label = QLabel(self.tr("Weights and workspace may take"))
        label.setBuddy(self.budget)
        self.budget.setAccessibleName(self.tr("Memory budget in MiB"))
        self.budget.setRange(1, 1 << 20)
        self.budget.setDecimals(0)
        self.budget.setValue(_DEFAULT_BUDGET_MIB)
        self.budget.setSuffix(" MiB")
        self.budget.setFixedWidth(110)
        self.budget.setKeyboardTracking(False)
        self.budget.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.budget.lineEdit().setTextMargins(0, 0, 4, 0)
        self.budget.lineEdit().setAcceptDrops(False)
        row = QHBoxLayout(self._budget_row)
        row.setContentsMargins(_INDENT, 0, 0, 0)
        row.addWidget(label)
        row.addWidget(self.budget)
        row.addStretch()

    def _create_group_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(14)
        row.addWidget(self._group_label)
        for size, button in self.group_sizes.items():
            button.setAccessibleName(self.tr("Group size {size}").format(size=size))
            row.addWidget(button)
        note = QLabel(self.tr("smaller groups: less loss, more bytes"))
        set_role(note, "tone", "muted")
        row.addWidget(note)
        row.addStretch()
        return row

    def _connect(self) -> None:
        for buttons in (self.grids, self.group_sizes):
            group = QButtonGroup(self)
            for button in buttons.values():
                group.addButton(button)
            group.buttonClicked.connect(self._on_clicked)
        self.budget.valueChanged.connect(self._on_clicked)
        self.allow_lossy.clicked.connect(self._on_clicked)


class _HelpLabel(QLabel):
    """The sentence below a button; a click on it is one on the button."""

    def __init__(self, text: str, button: QRadioButton) -> None:
        super().__init__(text)
        self._button = button
        self.setWordWrap(True)
        self.setContentsMargins(_INDENT, 0, 0, 0)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        set_role(self, "tone", "muted")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._button.click()
