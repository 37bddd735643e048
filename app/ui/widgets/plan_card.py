"""The plan: which source types become what, how, and what that does to the size."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.core.conversion_events import ConversionPlan
from app.core.units import format_bytes
from app.ui.formats import format_count
from app.ui.item_models.row_model import Column
from app.ui.path_labels import path_help, path_label
from app.ui.widgets.card import Card
from app.ui.widgets.row_table import RowTable


class PlanCard(Card):
    """Shows a ConversionPlan."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Plan"), parent)
        self.table = RowTable(self._create_columns(), self.tr("Conversion plan"))
        self.rows.addWidget(self.table)

    def show_plan(self, plan: ConversionPlan) -> None:
        """Shows another plan."""
        self.table.set_rows(plan.groups)

    def _create_columns(self) -> list[Column]:
        return [
            Column(self.tr("Source type"), lambda g: g.source_type),
            Column(self.tr("Becomes"), lambda g: g.target),
            Column(
                self.tr("How"), lambda g: path_label(g.path), tool_tip=lambda g: path_help(g.path)
            ),
            Column(
                self.tr("Tensors"),
                lambda g: format_count(g.num_tensors),
                is_number=True,
                gives_way=2,
            ),
            Column(
                self.tr("Before"),
                lambda g: format_bytes(g.source_bytes),
                is_number=True,
                gives_way=1,
            ),
            Column(self.tr("After"), lambda g: format_bytes(g.output_bytes), is_number=True),
        ]
