"""What a hub found for words: repositories to open."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.core.download_events import FoundRepository, RepositoriesFound
from app.ui.formats import format_count
from app.ui.item_models.row_model import Column
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.row_table import RowTable


class ResultsCard(Card):
    """Signals:
    open_requested(str): look at this repository (Enter, a double click, the button).
    """

    open_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._found: tuple[FoundRepository, ...] = ()
        self.title, self.hint = QLabel(), QLabel()
        self.title.setFont(ui_font(1.1, bold=True))
        for label in (self.title, self.hint):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
        name = self.tr("Repositories that were found")
        self.table = RowTable(self._create_columns(), name, is_first_wide=True)
        self.open_button = QPushButton(self.tr("Open"))
        self._build()

    @property
    def has_results(self) -> bool:
        """Whether there is something to go back to."""
        return bool(self._found)

    def show_results(self, found: RepositoriesFound) -> None:
        """Shows another answer; the first row is chosen."""
        self._found = found.repositories
        host = found.endpoint.partition("://")[2]
        if self._found:
            text = self.tr("Found for “{words}” at {host}")
            hint = self.tr("The most downloaded first. Open one to see its sizes and what fits.")
        else:
            text = self.tr("{host} has no model called “{words}”")
            hint = self.tr(
                "Fewer words find more: a name and a size, such as “qwen3 4b”. Words are looked "
                "for in the names of repositories."
            )
        self.title.setText(text.format(words=found.words, host=host))
        self.hint.setText(hint)
        self.table.set_rows(self._found)
        for widget in (self.table, self.open_button):
            widget.setVisible(bool(self._found))
        if self._found:
            self.table.selectRow(0)

    def _on_open_clicked(self) -> None:
        self._open(self.table.currentIndex())

    def _open(self, index: QModelIndex) -> None:
        if index.isValid():
            self.open_requested.emit(self._found[index.row()].repo_id)

    def _create_columns(self) -> list[Column]:
        return [
            Column(self.tr("Repository"), lambda r: r.repo_id, tool_tip=lambda r: r.repo_id),
            Column(self.tr("Downloads"), lambda r: format_count(r.downloads), is_number=True),
            Column(self.tr("Likes"), lambda r: format_count(r.likes), is_number=True, gives_way=2),
            Column(self.tr("Licence"), lambda r: self._licence(r)),
            Column(self.tr("Updated"), lambda r: r.updated or "–", gives_way=1),
        ]

    def _licence(self, found: FoundRepository) -> str:
        licence = found.license or "–"
        return self.tr("{licence}, gated").format(licence=licence) if found.is_gated else licence

    def _build(self) -> None:
        set_role(self.hint, "tone", "muted")
        set_role(self.open_button, "kind", "primary")
        self.open_button.clicked.connect(self._on_open_clicked)
        self.table.activated.connect(self._open)
        foot = QHBoxLayout()
        foot.addStretch()
        foot.addWidget(self.open_button)
        for widget in (self.title, self.hint, self.table):
            self.rows.addWidget(widget)
        self.rows.addLayout(foot)
