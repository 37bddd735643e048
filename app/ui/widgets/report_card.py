"""The quality report of a finished conversion, and the way to the chat."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.core.events import ConversionReport
from app.core.units import format_bytes
from app.ui.formats import format_count, format_duration, format_error
from app.ui.item_models.row_model import Column
from app.ui.path_labels import path_label
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card, clear_layout
from app.ui.widgets.row_table import RowTable

_TILES_PER_ROW = 4


class ReportCard(Card):
    """Signals:
    chat_requested(Path): talk to the checkpoint in this folder.
    """

    chat_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._report: ConversionReport | None = None
        self.badge = QLabel()
        self.badge.setFont(ui_font(1.0, bold=True))
        self.badge.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._headline = QLabel()
        self._headline.setFont(ui_font(1.3, bold=True))
        self._notes = QLabel()
        self._notes.setWordWrap(True)
        self._tiles = QGridLayout()
        self._tiles.setSpacing(10)
        self.chat_button = QPushButton(self.tr("Chat with it"))
        self.folder_button = QPushButton(self.tr("Open folder"))
        self.tensors_button = QPushButton(self.tr("Show every tensor"))
        self.table = RowTable(
            self._create_columns(),
            self.tr("Every tensor"),
            max_rows=12,
            is_sortable=True,
            is_first_wide=True,
        )
        self._build()

    def show_report(self, report: ConversionReport) -> None:
        """Shows a report; the tensors stay folded."""
        self._report = report
        self._headline.setText(self.tr("Converted"))
        self._show_badge(report)
        self._fill_tiles(report)
        self._notes.setText("\n".join(report.notes))
        self._notes.setVisible(bool(report.notes))
        self.tensors_button.setVisible(bool(report.tensors))
        self.tensors_button.setChecked(False)

    def _show_badge(self, report: ConversionReport) -> None:
        set_role(self.badge, "badge", "success" if report.lossless else "accent")
        if report.lossless:
            self.badge.setText(self.tr("✓ Lossless"))
            self.badge.setToolTip(
                self.tr("Every tensor decodes bit for bit to what the source decodes to.")
            )
        else:
            text = self.tr("Largest relative error {error}")
            self.badge.setText(text.format(error=format_error(report.rel_err_max)))
            self.badge.setToolTip(self.tr("Measured per tensor against the source's own decoding."))

    def _fill_tiles(self, report: ConversionReport) -> None:
        clear_layout(self._tiles)
        counts = (
            ("exact", report.num_exact),
            ("grid", report.num_grid),
            ("requant", report.num_requant),
            ("dense", report.num_dense),
        )
        sizes = self.tr("{before} → {after}")
        before, after = format_bytes(report.source_bytes), format_bytes(report.output_bytes)
        facts = [
            *(
                (format_count(count), self.tr("tensors {path}").format(path=path_label(path)))
                for path, count in counts
            ),
            (format_error(report.rel_err_max), self.tr("largest relative error")),
            (sizes.format(before=before, after=after), self.tr("size")),
            (format_duration(report.seconds), self.tr("time")),
            (format_bytes(report.peak_rss_bytes), self.tr("peak memory")),
        ]
        for position, (value, caption) in enumerate(facts):
            self._tiles.addWidget(_create_tile(value, caption), *divmod(position, _TILES_PER_ROW))

    def _on_chat_clicked(self) -> None:
        if self._report is not None:
            self.chat_requested.emit(self._report.output)

    def _on_folder_clicked(self) -> None:
        if self._report is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._report.output)))

    def _on_tensors_toggled(self, shown: bool) -> None:
        self.tensors_button.setText(
            self.tr("Hide the tensors") if shown else self.tr("Show every tensor")
        )
        if shown and self._report is not None:
            self.table.set_rows(self._report.tensors)
        self.table.setVisible(shown)

    def _create_columns(self) -> list[Column]:
        return [
            Column(self.tr("Tensor"), lambda t: t.name, tool_tip=lambda t: t.name),
            Column(self.tr("Source type"), lambda t: t.source_type),
            Column(self.tr("Stored as"), lambda t: t.target),
            Column(self.tr("How"), lambda t: path_label(t.path)),
            Column(
                self.tr("Relative error"),
                lambda t: format_error(t.rel_err),
                sort_key=lambda t: t.rel_err,
                is_number=True,
            ),
            Column(
                self.tr("Size"),
                lambda t: format_bytes(t.output_bytes),
                sort_key=lambda t: t.output_bytes,
                is_number=True,
            ),
        ]

    def _build(self) -> None:
        set_role(self._notes, "tone", "muted")
        set_role(self.chat_button, "kind", "primary")
        set_role(self.chat_button, "size", "large")
        set_role(self.tensors_button, "kind", "link")
        self.tensors_button.setCheckable(True)
        self.chat_button.clicked.connect(self._on_chat_clicked)
        self.folder_button.clicked.connect(self._on_folder_clicked)
        self.tensors_button.toggled.connect(self._on_tensors_toggled)
        self.table.hide()
        head = QHBoxLayout()
        head.addWidget(self._headline)
        head.addSpacing(8)
        head.addWidget(self.badge)
        head.addStretch()
        head.addWidget(self.folder_button)
        head.addWidget(self.chat_button)
        self.rows.addLayout(head)
        self.rows.addLayout(self._tiles)
        self.rows.addWidget(self._notes)
        self.rows.addWidget(self.tensors_button, alignment=Qt.AlignmentFlag.AlignLeft)
        self.rows.addWidget(self.table)


def _create_tile(value: str, caption: str) -> QWidget:
    tile = Card()
    set_role(tile, "card", "sunken")
    tile.rows.setContentsMargins(14, 10, 14, 10)
    tile.rows.setSpacing(2)
    number = QLabel(value)
    number.setFont(ui_font(1.15, bold=True))
    text = QLabel(caption)
    text.setFont(ui_font(0.86))
    set_role(text, "tone", "muted")
    for label in (number, text):
        tile.rows.addWidget(label)
    return tile
