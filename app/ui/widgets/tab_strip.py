"""Buttons of which one is down: the pages of the rail, the topics of the settings, tabs."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QAccessibleStateChangeEvent
from PySide6.QtWidgets import QButtonGroup, QLayout, QToolButton, QWidget

from app.ui.accessible import Role, TabInterface, as_role
from app.ui.theme import set_role


class TextTab(QToolButton):
    """A tab that is a word."""

    told_as = TabInterface

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(text)
        set_role(self, "kind", "topic")


class TabStrip(QWidget):
    """Tab comes to the one that is down, arrow keys go from there to the others.

    Signals:
        chosen(int): the position of the one that the user chose.
    """

    chosen = Signal(int)
    told_as = as_role(Role.PageTabList)

    def __init__(self, name: str, layout: QLayout, parent: QWidget | None = None) -> None:
        """`name`: what there is to choose from, for screen readers."""
        super().__init__(parent)
        self.setAccessibleName(name)
        layout.setContentsMargins(0, 0, 0, 0)
        self.setLayout(layout)
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(self.chosen)
        self._group.buttonToggled.connect(self._on_toggled)

    @property
    def buttons(self) -> list[QToolButton]:
        """In their order."""
        return self._group.buttons()  # type: ignore[return-value]

    def add(self, button: QToolButton) -> None:
        """One more at the end; its class is told as a tab."""
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._group.addButton(button, len(self.buttons))
        layout = self.layout()
        assert layout is not None
        layout.addWidget(button)

    def set_spacing(self, spacing: int) -> None:
        """Pixels between two."""
        layout = self.layout()
        assert layout is not None
        layout.setSpacing(spacing)
        self.updateGeometry()

    def select(self, position: int) -> None:
        """Puts one down without telling anyone."""
        self._group.button(position).setChecked(True)

    def _on_toggled(self, button: QToolButton, is_chosen: bool) -> None:
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus if is_chosen else Qt.FocusPolicy.NoFocus)
        if QAccessible.isActive():
            changed = QAccessible.State()
            changed.selected = True
            QAccessible.updateAccessibility(QAccessibleStateChangeEvent(button, changed))
            if is_chosen:
                event = QAccessibleEvent(button, QAccessible.Event.Selection)
                QAccessible.updateAccessibility(event)
