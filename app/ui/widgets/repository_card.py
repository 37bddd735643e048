"""What a repository offers: each model with its size, what fits of it here, and the verdict."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.core.download_events import OfferedModel, RepositoryFound
from app.core.units import format_bytes
from app.ui.formats import format_count, format_share
from app.ui.grid_labels import grid_label
from app.ui.item_models.row_model import Column
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card, clear_layout, create_chip
from app.ui.widgets.flow_layout import FlowLayout
from app.ui.widgets.row_table import RowTable

_FOUND_COLUMN = 2  # shown where something is on this disk


class RepositoryCard(Card):
    """Signals:
    download_requested(RepositoryFound, OfferedModel): fetch the chosen one.
    back_requested: show again what was found before it.
    """

    download_requested = Signal(object, object)
    back_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._found: RepositoryFound | None = None
        self._models: tuple[OfferedModel, ...] = ()
        self._chosen: OfferedModel | None = None
        self._name = QLabel()
        self._name.setFont(ui_font(1.3, bold=True))
        self._name.setTextFormat(Qt.TextFormat.PlainText)
        self._name.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._chips = FlowLayout()
        self.machine, self.verdict, self.contexts = QLabel(), QLabel(), QLabel()
        for label in (self.machine, self.verdict, self.contexts):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        name = self.tr("Models of the repository")
        self.table = RowTable(self._create_columns(), name, is_first_wide=True)
        self.download_button = QPushButton(self.tr("Download"))
        self.back_button = QPushButton(self.tr("‹ Back to what was found"))
        self._build()

    def show_repository(self, found: RepositoryFound) -> None:
        """Shows another repository; the largest model that fits is chosen."""
        self._found, self._models = found, found.models
        self._name.setText(found.repo_id)
        clear_layout(self._chips)
        for text in self._facts(found):
            self._chips.addWidget(create_chip(text))
        self.machine.setText(shown(found.machine))
        self.machine.setVisible(bool(found.machine))
        self._show_models()
        self._choose(found.models[found.best or 0])

    def show_found(self, found: RepositoryFound) -> None:
        """The same repository, of which more or less is on the disk now."""
        chosen = self._models.index(self._chosen) if self._chosen in self._models else 0
        self._found, self._models = found, found.models
        self._show_models()
        self._choose(found.models[chosen])

    def _show_models(self) -> None:
        has_any = any(model.found_bytes for model in self._models)
        self.table.setColumnHidden(_FOUND_COLUMN, not has_any)
        self.table.set_rows(self._models)

    def _choose(self, model: OfferedModel) -> None:
        self._chosen = model
        self.table.selectRow(self._models.index(model))
        self.verdict.setText(shown(model.reason))
        self.contexts.setText(self._describe_contexts(model))
        self.contexts.setVisible(bool(model.contexts))
        is_doubtful = model.template != "present" or not self._fits(model)
        tone = "danger" if model.is_refused else "warning" if is_doubtful else "success"
        set_role(self.verdict, "tone", tone)
        self.download_button.setEnabled(not model.is_refused)
        left = model.num_bytes - model.found_bytes
        text = self.tr("To the list (all of it is here)")
        if left:
            rest = self.tr("Go on downloading ({size})")
            text = rest if model.found_bytes else self.tr("Download ({size})")
        self.download_button.setText(text.format(size=format_bytes(left)))

    def _describe_contexts(self, model: OfferedModel) -> str:
        """What the user could choose instead at the conversion."""
        parts = []
        for fit in model.contexts:
            facts = {"grid": grid_label(fit.grid), "n": format_count(fit.max_context)}
            if fit.max_context_int8_kv > fit.max_context:
                text = self.tr("{grid}: {n} tokens ({m} with an 8-bit KV cache)")
                parts.append(text.format(m=format_count(fit.max_context_int8_kv), **facts))
            else:
                parts.append(self.tr("{grid}: {n} tokens").format(**facts))
        return self.tr("Context by conversion: {list}").format(
            list="".join(f"\n• {part}" for part in parts)
        )

    def _fits(self, model: OfferedModel) -> bool:
        return model.max_context is None or model.max_context > 0

    def _on_current_row_changed(self, index: QModelIndex | QPersistentModelIndex) -> None:
        if index.isValid():
            self._choose(self._models[index.row()])

    def _on_download_clicked(self) -> None:
        if self._found is not None and self._chosen is not None:
            self.download_requested.emit(self._found, self._chosen)

    def _facts(self, found: RepositoryFound) -> list[str]:
        licence = found.license or self.tr("no licence is named")
        facts = [licence, self.tr("{n} downloads").format(n=format_count(found.downloads))]
        if found.is_gated:
            facts.append(self.tr("gated: its terms must be accepted"))
        architectures = dict.fromkeys(m.architecture for m in found.models if m.architecture)
        if found.endpoint:
            facts.append(found.endpoint.partition("://")[2])
        return [*architectures, *facts]

    def _create_columns(self) -> list[Column]:
        return [
            Column(self.tr("Model"), lambda m: m.name, tool_tip=lambda m: m.main or m.name),
            Column(
                self.tr("Download"),
                lambda m: format_bytes(m.num_bytes),
                is_number=True,
                gives_way=1,
            ),
            Column(self.tr("On this disk"), lambda m: _share(m), is_number=True),
            Column(
                self.tr("Converted"),
                lambda m: _size(m.converted_bytes),
                is_number=True,
                gives_way=2,
            ),
            Column(self.tr("Context that fits"), lambda m: self._context(m), is_number=True),
        ]

    def _context(self, model: OfferedModel) -> str:
        if model.is_refused:
            return self.tr("refused")
        if model.max_context is None:
            return self.tr("unknown")
        return self.tr("{n} tokens").format(n=format_count(model.max_context))

    def _build(self) -> None:
        for label in (self.machine, self.contexts):
            set_role(label, "tone", "muted")
        set_role(self.download_button, "kind", "primary")
        set_role(self.back_button, "kind", "link")
        self.back_button.clicked.connect(self.back_requested)
        self.download_button.clicked.connect(self._on_download_clicked)
        self.table.selectionModel().currentRowChanged.connect(self._on_current_row_changed)
        foot = QHBoxLayout()
        foot.addWidget(self.verdict, 1)
        foot.addWidget(self.download_button)
        self.rows.addWidget(self.back_button, alignment=Qt.AlignmentFlag.AlignLeft)
        self.rows.addWidget(self._name)
        self.rows.addLayout(self._chips)
        self.rows.addWidget(self.machine)
        self.rows.addWidget(self.table)
        self.rows.addWidget(self.contexts)
        self.rows.addLayout(foot)


def _share(model: OfferedModel) -> str:
    if not model.found_bytes:
        return "–"
    return format_share(model.found_bytes / max(model.num_bytes, 1), 0)


def _size(num_bytes: int | None) -> str:
    return "–" if num_bytes is None else format_bytes(num_bytes)
