"""Where the conversion lost something: by path, by layer with the worst first, by tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.core.conversion_events import ConversionReport, TensorReport
from app.core.units import format_bytes
from app.ui.formats import format_count, format_error
from app.ui.item_models.row_model import Column
from app.ui.path_labels import path_help, path_label
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.copy_button import CopyButton
from app.ui.widgets.error_chart import ErrorChart
from app.ui.widgets.fold_button import FoldButton
from app.ui.widgets.row_table import RowTable

_PATHS = ("exact", "grid", "requant", "dense")


@dataclass(frozen=True, slots=True)
class PathErrors:
    """All tensors that took one path."""

    path: str
    num_tensors: int
    rel_err_mean: float
    rel_err_max: float
    output_bytes: int


class ErrorsCard(Card):
    """Shows the errors of a ConversionReport."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._report: ConversionReport | None = None
        self._verdict = QLabel()
        self._verdict.setWordWrap(True)
        self.paths = RowTable(self._path_columns(), self.tr("Error by path"))
        self.chart = ErrorChart()
        self.parts = RowTable(
            self._part_columns(), self.tr("Error by layer"), max_rows=8, is_sortable=True
        )
        self.tensors_button = FoldButton()
        self.tensors = RowTable(
            self._tensor_columns(),
            self.tr("Every tensor"),
            max_rows=12,
            is_sortable=True,
            is_first_wide=True,
        )
        self.copy_button = CopyButton(self._text, self.tr("Copy the tables"))
        self._build()

    def show_report(self, report: ConversionReport) -> None:
        """Shows a report; the tensors stay folded, and layers too where nothing was lost."""
        self._report = report
        worst_first = sorted(report.parts, key=lambda part: -part.rel_err_max)
        self.paths.set_rows(_group_by_path(report.tensors))
        self.parts.set_rows(worst_first)
        has_errors = report.rel_err_max > 0
        if has_errors:
            self.chart.set_parts(report.parts)
        for widget in (self.chart, self.parts):
            widget.setVisible(has_errors)
        self._verdict.setText(self._describe(report))
        self.tensors_button.setChecked(False)

    def _describe(self, report: ConversionReport) -> str:
        if not report.rel_err_max:
            return self.tr("No error anywhere: every weight decodes to what the source decodes to.")
        return self.tr(
            "‖W′ − W‖ / ‖W‖ against the source's own decoding: pale is the largest error of a "
            "layer's tensors, strong their mean. The worst layers come first."
        )

    def _on_tensors_toggled(self, shown: bool) -> None:
        self.tensors_button.setText(
            self.tr("Hide the tensors") if shown else self.tr("Show every tensor")
        )
        if shown and self._report is not None:
            self.tensors.set_rows(self._report.tensors)
        self.tensors.setVisible(shown)

    def _text(self) -> str:
        tables = [self.paths, self.parts]
        if self.tensors_button.isChecked():
            tables.append(self.tensors)
        return "\n\n".join(table.text() for table in tables)

    def _path_columns(self) -> list[Column]:
        return [
            Column(
                self.tr("How"), lambda p: path_label(p.path), tool_tip=lambda p: path_help(p.path)
            ),
            Column(self.tr("Tensors"), lambda p: format_count(p.num_tensors), is_number=True),
            *self._error_columns(),
        ]

    def _part_columns(self) -> list[Column]:
        return [
            Column(self.tr("Part"), lambda p: p.part),
            Column(self.tr("How"), lambda p: ", ".join(map(path_label, p.paths))),
            *self._error_columns(),
        ]

    def _tensor_columns(self) -> list[Column]:
        return [
            Column(self.tr("Tensor"), lambda t: t.name, tool_tip=lambda t: t.name),
            Column(self.tr("Source type"), lambda t: t.source_type),
            Column(self.tr("Stored as"), lambda t: t.target),
            Column(self.tr("How"), lambda t: path_label(t.path)),
            _number(
                self.tr("Relative error"), lambda t: t.rel_err, lambda t: format_error(t.rel_err)
            ),
            self._size_column(),
        ]

    def _error_columns(self) -> list[Column]:
        return [
            _number(
                self.tr("Mean error"),
                lambda r: r.rel_err_mean,
                lambda r: format_error(r.rel_err_mean),
            ),
            _number(
                self.tr("Largest error"),
                lambda r: r.rel_err_max,
                lambda r: format_error(r.rel_err_max),
            ),
            self._size_column(),
        ]

    def _size_column(self) -> Column:
        return _number(
            self.tr("Size"), lambda r: r.output_bytes, lambda r: format_bytes(r.output_bytes)
        )

    def _build(self) -> None:
        title = QLabel(self.tr("Error by path and layer"))
        title.setFont(ui_font(1.1, bold=True))
        set_role(self._verdict, "tone", "muted")
        self.tensors_button.toggled.connect(self._on_tensors_toggled)
        self._on_tensors_toggled(False)
        head = QHBoxLayout()
        head.addWidget(title, 1)
        head.addWidget(self.copy_button)
        self.rows.addLayout(head)
        for widget in (self._verdict, self.paths, self.chart, self.parts):
            self.rows.addWidget(widget)
        self.rows.addWidget(self.tensors_button, alignment=Qt.AlignmentFlag.AlignLeft)
        self.rows.addWidget(self.tensors)


def _number(title: str, key: Callable[[Any], float], text: Callable[[Any], str]) -> Column:
    return Column(title, text, sort_key=key, is_number=True)


def _group_by_path(tensors: Sequence[TensorReport]) -> list[PathErrors]:
    members = {path: [t for t in tensors if t.path == path] for path in _PATHS}
    return [
        PathErrors(
            path,
            len(found),
            sum(t.rel_err for t in found) / len(found),
            max(t.rel_err for t in found),
            sum(t.output_bytes for t in found),
        )
        for path, found in members.items()
        if found
    ]
