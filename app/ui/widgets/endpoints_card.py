"""The hubs: which one is asked, which stand in for it, how fast they are from here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QWidget

from app.core.download_events import EndpointProbed
from app.ui.formats import format_duration, format_rate
from app.ui.item_models.row_model import Column
from app.ui.theme import set_role
from app.ui.widgets.card import Card
from app.ui.widgets.flow_layout import FlowLayout
from app.ui.widgets.row_table import RowTable


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """`place` in the order in which hubs are asked, 0 first, None: not asked."""

    endpoint: str
    place: int | None
    speed: str = "–"


class EndpointsCard(Card):
    """Signals:
    first_requested(str): ask this hub.
    mirror_requested(str, bool): ask it where the first does not answer, or not any more.
    added(str): another address.
    probe_requested: measure all.
    token_requested(str): the token of this hub.
    """

    first_requested = Signal(str)
    mirror_requested = Signal(str, bool)
    added = Signal(str)
    probe_requested = Signal()
    token_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._shown: tuple[EndpointRow, ...] = ()
        self.note = QLabel(
            self.tr(
                "A hub that stands in serves the same files: their digests are compared before a "
                "byte is taken from it, and after the last. Tokens stay with their own hub."
            )
        )
        self.problem = QLabel()
        for label in (self.note, self.problem):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self.table = RowTable(self._create_columns(), self.tr("Hubs"), is_first_wide=True)
        self.first_button = QPushButton(self.tr("Ask this one"))
        self.mirror_button = QPushButton()
        self.token_button = QPushButton(self.tr("Token…"))
        self.probe_button = QPushButton(self.tr("Measure speed (1 MB of each)"))
        self.edit = QLineEdit()
        self.edit.setAcceptDrops(False)  # the window takes them
        self.edit.setAccessibleName(self.tr("Address of another hub"))
        self.edit.setPlaceholderText("https://…")
        self.add_button = QPushButton(self.tr("Add"))
        self._build()

    def show_endpoints(self, endpoints: Sequence[str], asked: Sequence[str]) -> None:
        """All that can be chosen, and those that are asked, in order."""
        speeds = {row.endpoint: row.speed for row in self._shown}
        chosen = self._chosen
        self._set_rows(
            tuple(
                EndpointRow(e, asked.index(e) if e in asked else None, speeds.get(e, "–"))
                for e in endpoints
            ),
            chosen.endpoint if chosen else "",
        )
        self.problem.hide()

    def show_probing(self) -> None:
        """All are being measured."""
        self.probe_button.setEnabled(False)
        self._set_rows(tuple(replace(row, speed="…") for row in self._shown))

    def show_probe(self, probed: EndpointProbed) -> None:
        """How fast one is."""
        if probed.problem:
            speed = self.tr("no answer")
        else:
            rate, wait = format_rate(probed.bytes_per_s), format_duration(probed.first_byte_s)
            speed = self.tr("{rate}, after {wait}").format(rate=rate, wait=wait)
        rows = (
            replace(r, speed=speed) if r.endpoint == probed.endpoint else r for r in self._shown
        )
        self._set_rows(tuple(rows))

    def show_probing_ended(self) -> None:
        """All were measured, or nobody waits for the rest."""
        self.probe_button.setEnabled(True)
        rows = (replace(r, speed="–") if r.speed == "…" else r for r in self._shown)
        self._set_rows(tuple(rows))

    def show_problem(self, sentence: str) -> None:
        """The address that was typed is none."""
        self.problem.setText(sentence)
        self.problem.show()

    @property
    def _chosen(self) -> EndpointRow | None:
        index = self.table.currentIndex()
        return self._shown[index.row()] if index.isValid() else None

    def _set_rows(self, rows: tuple[EndpointRow, ...], chosen: str = "") -> None:
        kept = self._chosen
        chosen = chosen or (kept.endpoint if kept else "")
        self._shown = rows
        self.table.set_rows(rows)
        place = next((i for i, row in enumerate(rows) if row.endpoint == chosen), 0)
        self.table.selectRow(place)
        self._update()

    def _update(self) -> None:
        row = self._chosen
        self.first_button.setEnabled(row is not None and row.place != 0)
        self.mirror_button.setEnabled(row is not None and row.place != 0)
        stands_in = row is not None and bool(row.place)
        text = self.tr("Do not stand in") if stands_in else self.tr("Let it stand in")
        self.mirror_button.setText(text)
        self.token_button.setEnabled(row is not None)

    def _on_first_clicked(self) -> None:
        if (row := self._chosen) is not None:
            self.first_requested.emit(row.endpoint)

    def _on_mirror_clicked(self) -> None:
        if (row := self._chosen) is not None:
            self.mirror_requested.emit(row.endpoint, not row.place)

    def _on_token_clicked(self) -> None:
        if (row := self._chosen) is not None:
            self.token_requested.emit(row.endpoint)

    def _on_added(self) -> None:
        if text := self.edit.text().strip():
            self.problem.hide()
            self.added.emit(text)

    def _create_columns(self) -> list[Column]:
        return [
            Column(self.tr("Hub"), lambda r: r.endpoint, tool_tip=lambda r: r.endpoint),
            Column(self.tr("Asked"), lambda r: self._role(r)),
            Column(self.tr("Speed from here"), lambda r: r.speed, is_number=True),
        ]

    def _role(self, row: EndpointRow) -> str:
        if row.place is None:
            return self.tr("no")
        return self.tr("stands in") if row.place else self.tr("first")

    def _build(self) -> None:
        set_role(self.note, "tone", "muted")
        set_role(self.problem, "tone", "danger")
        self.problem.hide()
        self.first_button.clicked.connect(self._on_first_clicked)
        self.mirror_button.clicked.connect(self._on_mirror_clicked)
        self.token_button.clicked.connect(self._on_token_clicked)
        self.probe_button.clicked.connect(self.probe_requested)
        self.add_button.clicked.connect(self._on_added)
        self.edit.returnPressed.connect(self._on_added)
        self.table.selectionModel().currentRowChanged.connect(self._update)
        buttons = FlowLayout()
        for button in (
            self.first_button,
            self.mirror_button,
            self.token_button,
            self.probe_button,
        ):
            buttons.addWidget(button)
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(self.edit, 1)
        row.addWidget(self.add_button)
        self.rows.addWidget(self.note)
        self.rows.addWidget(self.table)
        self.rows.addLayout(buttons)
        self.rows.addLayout(row)
        self.rows.addWidget(self.problem)
