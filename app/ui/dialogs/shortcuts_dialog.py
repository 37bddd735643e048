"""All keys that do something, by what they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.ui.accessible import Role, as_role
from app.ui.shortcuts import Shortcut
from app.ui.theme import set_role, ui_font

_AROUND = QSize(72, 110)  # margins, a scroll bar, the button


class _KeyList(QScrollArea):
    """The keyboard comes to it, to scroll it in a low window."""

    told_as = as_role(Role.List)


class ShortcutsDialog(QDialog):
    """Groups under their titles, in two columns where these fit; deletes itself when closed."""

    def __init__(
        self, groups: Mapping[str, Sequence[Shortcut]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.area = _KeyList()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QScrollArea.Shape.NoFrame)
        self.area.setAccessibleName(self.windowTitle())
        room = self.screen().availableSize() if parent is None else parent.size()
        columns = _create_columns(groups, 2)
        if columns.sizeHint().width() + _AROUND.width() > room.width():
            columns = _create_columns(groups, 1)
        self.area.setWidget(columns)
        self._build()
        self.resize((columns.sizeHint() + _AROUND).boundedTo(room))

    def _build(self) -> None:
        close = QPushButton(self.tr("Close"))
        close.setDefault(True)
        set_role(close, "kind", "primary")
        close.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addStretch()
        buttons.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 20, 24, 16)
        layout.setSpacing(12)
        layout.addWidget(self.area, 1)
        layout.addLayout(buttons)


def _create_columns(groups: Mapping[str, Sequence[Shortcut]], num_columns: int) -> QWidget:
    """Each group goes below the shorter column."""
    content = QWidget()
    row = QHBoxLayout(content)
    row.setContentsMargins(0, 0, 12, 0)  # away from the scroll bar
    row.setSpacing(40)
    columns = [QVBoxLayout() for _ in range(num_columns)]
    lengths = [0] * num_columns
    for title, shortcuts in groups.items():
        place = lengths.index(min(lengths))
        columns[place].addLayout(_create_group(title, shortcuts))
        lengths[place] += len(shortcuts) + 2
    for column in columns:
        column.setSpacing(20)
        column.addStretch()
        row.addLayout(column)
    return content


def _create_group(title: str, shortcuts: Sequence[Shortcut]) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(24)
    grid.setVerticalSpacing(7)
    grid.setColumnStretch(0, 1)
    heading = QLabel(title)
    heading.setFont(ui_font(1.1, bold=True))
    grid.addWidget(heading, 0, 0, 1, 2)
    for number, shortcut in enumerate(shortcuts, 1):
        keys = QLabel(name_keys(shortcut.keys[0]))
        set_role(keys, "chip", True)
        text = QLabel(shortcut.text)
        text.setBuddy(keys)
        grid.addWidget(text, number, 0)
        grid.addWidget(keys, number, 1, Qt.AlignmentFlag.AlignRight)
    return grid


def name_keys(keys: str) -> str:
    """As they are written on the keyboard: `Alt+Enter` for what Qt calls `Alt+Return`."""
    native = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
    return native.replace("Return", "Enter")
