"""Asks before anything is removed, and again, in other words, before it is removed for good."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.core.library_events import ItemPlace, LibraryItem
from app.core.units import format_bytes
from app.ui.dialogs.fitting_dialog import FittingDialog
from app.ui.theme import set_role, ui_font

_MAX_PATHS = 4


class RemoveDialog(FittingDialog):
    """Accepted: remove. Deletes itself when closed; keeping is the default.

    `reason` is why there is no trash: then it is asked whether to delete for good.
    """

    def __init__(
        self, items: Sequence[LibraryItem], *, reason: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(480, parent)
        self.setWindowTitle(self.tr("Remove"))
        self.items, self.is_permanent = tuple(items), bool(reason)
        self.title, self.text = QLabel(self._question()), QLabel(self._explanation(reason))
        self.title.setFont(ui_font(1.15, bold=True))
        self.places = QLabel(self._paths())
        for label in (self.title, self.text, self.places):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        set_role(self.places, "tone", "muted")
        self.keep_button = QPushButton(self.tr("Keep"))
        verb = self.tr("Delete for good") if self.is_permanent else self.tr("Move to the trash")
        self.remove_button = QPushButton(verb)
        self._build()

    def _question(self) -> str:
        if len(self.items) > 1:
            permanent = self.tr("Delete {count} items for good?")
            text = permanent if self.is_permanent else self.tr("Move {count} items to the trash?")
            return text.format(count=len(self.items))
        permanent = self.tr("Delete {name} for good?")
        text = permanent if self.is_permanent else self.tr("Move {name} to the trash?")
        return text.format(name=self.items[0].name)

    def _explanation(self, reason: str) -> str:
        size = format_bytes(sum(item.size_bytes for item in self.items))
        if self.is_permanent:
            text = self.tr("{reason} That frees {size} and cannot be undone.")
            return text.format(reason=reason, size=size)
        text = self.tr("{size} will be free once the trash is emptied.")
        if any(item.place is ItemPlace.HUB for item in self.items):
            text = self.tr(
                "{size} will be free once the trash is emptied. For other programs that use the "
                "Hugging Face cache, what is removed is gone, too."
            )
        return text.format(size=size)

    def _paths(self) -> str:
        paths = [str(item.path) for item in self.items]
        if len(paths) > _MAX_PATHS:
            more = self.tr("and {count} more").format(count=len(paths) - _MAX_PATHS)
            paths = [*paths[:_MAX_PATHS], more]
        return "\n".join(paths)

    def _build(self) -> None:
        self.keep_button.setDefault(True)
        set_role(self.keep_button, "kind", "primary")
        set_role(self.remove_button, "kind", "danger")
        self.keep_button.clicked.connect(self.reject)
        self.remove_button.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        buttons.addStretch()
        buttons.addWidget(self.remove_button)
        buttons.addWidget(self.keep_button)
        self.rows.setSpacing(12)
        for widget in (self.title, self.text, self.places):
            self.rows.addWidget(widget)
        self.close_rows(buttons)
