"""What could go, largest first, each with a button; nothing goes without one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.core.library_events import FreeUp
from app.core.units import format_bytes
from app.ui.library_labels import reason_label
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card, clear_layout
from app.ui.widgets.elided_label import ElidedLabel
from app.ui.widgets.fold_button import FoldButton

_MAX_ROWS_HEIGHT = 190
_MAX_ROWS = 30  # the largest; the next ones come when these are gone


class FreeUpCard(Card):
    """One line that unfolds.

    Signals:
        remove_requested(tuple[LibraryItem, ...])
    """

    remove_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._buttons: list[QPushButton] = []
        self._can_remove = True
        self._total = QLabel()
        self._total.setFont(ui_font(1.0, bold=True))
        self._hint = QLabel(self.tr("Nothing is removed by itself."))
        set_role(self._hint, "tone", "muted")
        self.toggle = FoldButton()
        self._list = QWidget()
        self._rows = QVBoxLayout(self._list)
        self._area = QScrollArea()
        self._build()
        self._on_toggled(False)

    def show_suggestions(self, suggestions: Sequence[FreeUp]) -> None:
        """Shows others; hides itself where there are none."""
        clear_layout(self._rows)
        self._buttons = []
        for suggestion in suggestions[:_MAX_ROWS]:
            self._rows.addWidget(self._create_row(suggestion))
        total = sum(suggestion.item.size_bytes for suggestion in suggestions)
        text = self.tr("{size} could be freed").format(size=format_bytes(total))
        self._total.setText(text)
        self.toggle.setAccessibleName(text)
        self.setVisible(bool(suggestions))
        self._fit()

    def set_can_remove(self, can_remove: bool) -> None:
        """Whether nothing else runs on the disk."""
        self._can_remove = can_remove
        for button in self._buttons:
            button.setEnabled(can_remove)

    def _create_row(self, suggestion: FreeUp) -> QWidget:
        item, row = suggestion.item, QWidget()
        name, reason = ElidedLabel(), QLabel(reason_label(suggestion.reason))
        name.set_whole(item.name)
        set_role(reason, "tone", "muted")
        size = QLabel(format_bytes(item.size_bytes))
        size.setMinimumWidth(80)
        size.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        button = QPushButton(self.tr("Remove"))
        text = self.tr("Remove {name}, {size}")
        button.setAccessibleName(text.format(name=item.name, size=size.text()))
        button.clicked.connect(lambda: self.remove_requested.emit((item,)))
        button.setEnabled(self._can_remove)
        self._buttons.append(button)
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 2, 0, 2)
        layout.setSpacing(14)
        layout.addWidget(name, 1)
        for widget in (reason, size, button):
            layout.addWidget(widget)
        return row

    def _on_toggled(self, is_open: bool) -> None:
        self._area.setVisible(is_open)
        self._hint.setVisible(is_open)
        self.toggle.setText(self.tr("Hide") if is_open else self.tr("Show what"))

    def _fit(self) -> None:
        height = self._list.sizeHint().height() + 4
        self._area.setFixedHeight(min(height, _MAX_ROWS_HEIGHT))

    def _build(self) -> None:
        self._rows.setContentsMargins(0, 0, 8, 0)
        self._rows.setSpacing(2)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setWidget(self._list)
        self.toggle.toggled.connect(self._on_toggled)
        head = QHBoxLayout()
        head.setSpacing(12)
        head.addWidget(self._total)
        head.addWidget(self._hint)
        head.addStretch()
        head.addWidget(self.toggle)
        self.rows.setContentsMargins(20, 8, 14, 8)
        self.rows.setSpacing(6)
        self.rows.addLayout(head)
        self.rows.addWidget(self._area)
