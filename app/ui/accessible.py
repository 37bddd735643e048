"""What a screen reader is told where Qt's own answer is wrong: roles and states.

A widget's class names its interface in `told_as`: the class, because a screen reader that listens
asks while the widget is still being made, and keeps the first answer.

Interfaces of text, values and tables cannot be written in Python: a screen reader's call into one
ends the program (PySide6 6.11 hands the wrong pointer over). Where a value must be told otherwise,
the name tells it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAbstractButton, QAccessibleWidget, QWidget

Role = QAccessible.Role
Text = QAccessible.Text


@lru_cache(maxsize=1)
def install() -> None:
    """From now on `told_as` is heeded; Qt keeps what is installed until the process ends."""
    QAccessible.installFactory(_create)


def _create(_class_name: str, told: QObject) -> QAccessibleInterface | None:
    create = getattr(type(told), "told_as", None)
    return create(told) if create is not None else None


def as_role(role: QAccessible.Role) -> Callable[[QWidget], QAccessibleInterface]:
    """For what only has another role than Qt takes it for."""
    return lambda widget: QAccessibleWidget(widget, role)


def tell_in_order(*widgets: QWidget) -> None:
    """Siblings are told in this order, after the others, not in that in which they were made."""
    for widget in widgets:
        widget.raise_()


class ButtonInterface(QAccessibleWidget):
    """A button that is no check box, although it can be checked: its name says what comes next."""

    def __init__(self, button: QWidget, role: QAccessible.Role = Role.Button) -> None:
        super().__init__(button, role)

    @property
    def _button(self) -> QAbstractButton:
        button = self.object()
        assert isinstance(button, QAbstractButton)
        return button

    def text(self, kind: QAccessible.Text) -> str:
        if kind is Text.Name:
            return self._button.accessibleName() or self._button.text().replace("&", "")
        return super().text(kind)

    def actionNames(self) -> list[str]:
        return [self.pressAction(), *super().actionNames()]

    def doAction(self, name: str) -> None:
        if name == self.pressAction():
            self._button.click()
        else:
            super().doAction(name)


class TabInterface(ButtonInterface):
    """One of several of which one is in front: a page, a topic, a tab."""

    def __init__(self, button: QWidget) -> None:
        super().__init__(button, Role.PageTab)

    def state(self) -> QAccessible.State:
        state = super().state()
        state.selectable = state.focusable = True  # arrow keys come to those that Tab passes by
        state.selected = self._button.isChecked()
        return state


class FoldInterface(ButtonInterface):
    """What shows and hides something below it."""

    def state(self) -> QAccessible.State:
        state = super().state()
        state.expandable = True
        state.expanded = self._button.isChecked()
        state.collapsed = not self._button.isChecked()
        return state
