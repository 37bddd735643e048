"""The item that is selected: what it is, where, when it was used, and what can be done with it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.core.library_events import ItemKind, LibraryItem
from app.core.units import format_bytes
from app.ui.library_actions import LibraryAction, action_help, action_label, actions_for
from app.ui.library_labels import family_label, grid_text, kind_label, place_label, use_help
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card, clear_layout, create_chip
from app.ui.widgets.copy_button import CopyButton
from app.ui.widgets.elided_label import ElidedLabel
from app.ui.widgets.flow_layout import FlowLayout

# Those that the program itself must not do while something else runs on the disk.
_DISK_ACTIONS = (LibraryAction.VERIFY, LibraryAction.REMOVE, LibraryAction.FETCH_AGAIN)


class ItemCard(Card):
    """Signals:
    action_requested(LibraryAction)
    """

    action_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._item: LibraryItem | None = None
        self._is_busy = False
        self._name = ElidedLabel()
        self._name.setFont(ui_font(1.15, bold=True))
        self._facts_row = QWidget()
        self._chips = FlowLayout(parent=self._facts_row)
        self._place = QWidget()
        self._path = ElidedLabel()
        set_role(self._path, "tone", "muted")
        self._copy = CopyButton(self._path_text, self.tr("Copy the path"), size=16)
        self._problem = QLabel()
        self._problem.setWordWrap(True)
        self._problem.setTextFormat(Qt.TextFormat.PlainText)
        self._problem.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.buttons = {action: QPushButton() for action in LibraryAction}
        self._build()

    def show_item(self, item: LibraryItem) -> None:
        """Shows another item."""
        self._item = item
        self._name.set_whole(item.name)
        clear_layout(self._chips)
        for text in self._facts(item):
            self._chips.addWidget(create_chip(text))
        self._path.set_whole(str(item.path))
        self._problem.setText(self._sentence(item))
        self._problem.setVisible(bool(self._problem.text()))
        set_role(self._problem, "tone", "danger" if item.kind is ItemKind.DAMAGED else "warning")
        self._show_buttons(item)

    def set_compact(self, is_compact: bool) -> None:
        """Whether there is little room: then the table keeps it."""
        self._facts_row.setVisible(not is_compact)
        self._place.setVisible(not is_compact)

    def set_busy(self, is_busy: bool) -> None:
        """Whether something else runs on the disk."""
        self._is_busy = is_busy
        if self._item is not None:
            self._show_buttons(self._item)

    def _show_buttons(self, item: LibraryItem) -> None:
        actions = actions_for(item)
        for action, button in self.buttons.items():
            button.setVisible(action in actions)
            set_role(button, "kind", "primary" if action is actions[0] else "plain")
            is_held = action is LibraryAction.REMOVE and bool(item.busy)
            button.setEnabled(not is_held and not (self._is_busy and action in _DISK_ACTIONS))
        set_role(self.buttons[LibraryAction.REMOVE], "kind", "danger")

    def _facts(self, item: LibraryItem) -> list[str]:
        facts = [kind_label(item.kind), format_bytes(item.size_bytes)]
        facts += [family_label(item.architecture), grid_text(item)]
        if item.kind is ItemKind.CHECKPOINT and item.is_verified:
            facts.append(self.tr("verified"))
        if item.kind is ItemKind.SOURCE and item.checkpoint is not None:
            facts.append(self.tr("converted as {name}").format(name=item.checkpoint.name))
        if item.repo_id:
            facts.append(place_label(item))
        facts.append(use_help(item))
        return [fact for fact in facts if fact]

    def _sentence(self, item: LibraryItem) -> str:
        if item.problem:
            return shown(item.problem)
        if item.busy:
            return self.tr("It is {use} right now, and cannot be removed.").format(
                use=shown(item.busy)
            )
        if item.kind is ItemKind.OTHER and item.commit and not item.refs:
            return self.tr("An older revision: no branch or tag means it any more.")
        return ""

    def _path_text(self) -> str:
        return str(self._item.path) if self._item else ""

    def _build(self) -> None:
        for action, button in self.buttons.items():
            button.setText(action_label(action))
            button.setToolTip(action_help(action))
            button.clicked.connect(lambda _=False, a=action: self.action_requested.emit(a))
        place = QHBoxLayout(self._place)
        place.setContentsMargins(0, 0, 0, 0)
        place.addWidget(self._path, 1)
        place.addWidget(self._copy)
        row = FlowLayout()
        for button in self.buttons.values():
            row.addWidget(button)
        self.rows.setSpacing(8)
        self.rows.addWidget(self._name)
        self.rows.addWidget(self._facts_row)
        self.rows.addWidget(self._place)
        self.rows.addWidget(self._problem)
        self.rows.addLayout(row)
