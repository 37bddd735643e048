"""What became of a finished conversion, in eight numbers, and the way to the chat."""

from __future__ import annotations

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.core.conversion_events import ConversionReport
from app.core.units import format_bytes
from app.ui.formats import format_count, format_duration, format_error
from app.ui.path_labels import path_label
from app.ui.sentences import shown
from app.ui.theme import make_large, set_role, ui_font
from app.ui.widgets.card import Card, clear_layout
from app.ui.widgets.flow_layout import FlowLayout
from app.ui.widgets.saved_label import SavedLabel

_TILES_PER_ROW = 4
_TILES_PER_NARROW_ROW = 2
_WIDE = 680  # pixels in which four tiles show a size before and after in one line


class ReportCard(Card):
    """Signals:
    chat_requested(Path): talk to the checkpoint in this folder.
    save_requested(Path): save the report of the checkpoint in this folder.
    """

    chat_requested = Signal(object)
    save_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._report: ConversionReport | None = None
        self.badge = QLabel()
        self.badge.setFont(ui_font(1.0, bold=True))
        self.badge.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._headline = QLabel(self.tr("Converted"))
        self._headline.setFont(ui_font(1.3, bold=True))
        self._notes = QLabel()
        self._notes.setWordWrap(True)
        self.saved = SavedLabel()
        self._tiles = QGridLayout()
        self._tiles.setSpacing(10)
        self._per_row = _TILES_PER_NARROW_ROW  # until there is room
        self.tiles: list[QWidget] = []
        self.chat_button = QPushButton(self.tr("Chat with it"))
        self.folder_button = QPushButton(self.tr("Open folder"))
        self.save_button = QPushButton(self.tr("Save report…"))
        self._build()

    def show_report(self, report: ConversionReport) -> None:
        """Shows a report."""
        self._report = report
        self.saved.hide()
        self._show_badge(report)
        self._fill_tiles(report)
        self._notes.setText("\n".join(map(shown, report.notes)))
        self._notes.setVisible(bool(report.notes))

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
        self.tiles = [_create_tile(value, caption) for value, caption in facts]
        self._arrange_tiles()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        per_row = _TILES_PER_ROW if event.size().width() >= _WIDE else _TILES_PER_NARROW_ROW
        if per_row != self._per_row:
            self._per_row = per_row
            self._arrange_tiles()

    def _arrange_tiles(self) -> None:
        """All of one width."""
        for tile in self.tiles:
            self._tiles.removeWidget(tile)
        for position, tile in enumerate(self.tiles):
            self._tiles.addWidget(tile, *divmod(position, self._per_row))
        for column in range(_TILES_PER_ROW):
            self._tiles.setColumnStretch(column, 1 if column < self._per_row else 0)

    def _on_chat_clicked(self) -> None:
        if self._report is not None:
            self.chat_requested.emit(self._report.output)

    def _on_save_clicked(self) -> None:
        if self._report is not None:
            self.save_requested.emit(self._report.output)

    def _on_folder_clicked(self) -> None:
        if self._report is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._report.output)))

    def _build(self) -> None:
        set_role(self._notes, "tone", "muted")
        set_role(self.chat_button, "kind", "primary")
        make_large(self.chat_button)
        self.chat_button.clicked.connect(self._on_chat_clicked)
        self.folder_button.clicked.connect(self._on_folder_clicked)
        self.save_button.clicked.connect(self._on_save_clicked)
        told = FlowLayout(10)
        told.addWidget(self._headline)
        told.addWidget(self.badge)
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addLayout(told, 1)
        head.addWidget(self.chat_button)
        others = QHBoxLayout()
        others.setSpacing(10)
        for button in (self.save_button, self.folder_button):
            others.addWidget(button)
        others.addStretch()
        self.rows.addLayout(head)
        self.rows.addLayout(self._tiles)
        self.rows.addWidget(self._notes)
        self.rows.addLayout(others)
        self.rows.addWidget(self.saved)


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
    text.setWordWrap(True)
    for label in (number, text):
        tile.rows.addWidget(label)
    tile.rows.addStretch()
    return tile
