"""The way from a configuration to an executor, and the ModelSpec that came out of it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.core.validation_events import ValidationChain
from app.ui.item_models.row_model import Column
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card, clear_layout, create_chip
from app.ui.widgets.collapsible import Collapsible
from app.ui.widgets.flow_layout import FlowLayout
from app.ui.widgets.row_table import RowTable


class ChainCard(Card):
    """Named at once, described as soon as the source was looked at."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.name = QLabel()
        self.name.setFont(ui_font(1.3, bold=True))
        self.name.setWordWrap(True)
        self.name.setTextFormat(Qt.TextFormat.PlainText)
        self.name.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._links = FlowLayout()
        columns = [
            Column(self.tr("Field"), lambda field: field[0]),
            Column(self.tr("Value"), lambda field: field[1], tool_tip=lambda field: field[1]),
        ]
        self.fields = RowTable(columns, self.tr("Fields of the ModelSpec"), max_rows=14)
        self._spec = Collapsible(self.tr("ModelSpec"), self.fields, is_open=False)
        self.rows.addWidget(self.name)
        self.rows.addLayout(self._links)
        self.rows.addWidget(self._spec)

    def show_source(self, source: str) -> None:
        """Something that has not been looked at yet."""
        self.name.setText(source)
        clear_layout(self._links)
        self._spec.hide()

    def show_chain(self, name: str, chain: ValidationChain) -> None:
        """What was recognised; a chain that broke ends in what is missing."""
        self.name.setText(name)
        clear_layout(self._links)
        self._links.addWidget(create_chip(shown(chain.format)))
        links = [chain.config, chain.adapter, "ModelSpec" if chain.spec else ""]
        for link in [*links, ", ".join(chain.executors)]:
            self._add_link(link)
        self.fields.set_rows(chain.spec)
        self._spec.setVisible(bool(chain.spec))

    def _add_link(self, text: str) -> None:
        arrow = QLabel("→")
        set_role(arrow, "tone", "muted")
        chip = create_chip(shown(text) or self.tr("nothing"))
        if not text:
            set_role(chip, "tone", "danger")
        link = QWidget()  # of one piece: no line ends in an arrow
        row = QHBoxLayout(link)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self._links.spacing())
        row.addWidget(arrow)
        row.addWidget(chip)
        self._links.addWidget(link)
