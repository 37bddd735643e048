"""One of a few named values: a button that shows it, with all of them as its menu."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QWidget

from app.ui.widgets.menu_button import MenuButton


class ChoiceButton(MenuButton):
    """`choices` gives each value the label that is shown.

    Signals:
        value_changed(str): by the user.
    """

    value_changed = Signal(str)

    def __init__(
        self, name: str, choices: Mapping[str, str], parent: QWidget | None = None
    ) -> None:
        super().__init__(name, parent)
        self._name = name
        self._choices: dict[str, str] = {}
        self.value = next(iter(choices))
        self._group = QActionGroup(self)
        self._group.triggered.connect(lambda action: self._choose(action.data()))
        self.set_choices(choices)

    def set_choices(self, choices: Mapping[str, str]) -> None:
        """Offers other values; the one that is shown stays where it is among them."""
        self._choices = dict(choices)
        self.menu().clear()
        for action in self._group.actions():
            self._group.removeAction(action)
        for value, label in choices.items():
            action = self.menu().addAction(label)
            action.setCheckable(True)
            action.setData(value)
            self._group.addAction(action)
        self.set_value(self.value if self.value in choices else next(iter(choices)))

    def set_value(self, value: str) -> None:
        """Shows a value without telling anyone."""
        self.value = value
        self.setText(self._choices[value])
        self.setAccessibleName(f"{self._name}: {self._choices[value]}")
        for action in self._group.actions():
            action.setChecked(action.data() == value)

    def _choose(self, value: str) -> None:
        if value != self.value:
            self.set_value(value)
            self.value_changed.emit(value)
