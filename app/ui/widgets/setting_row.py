"""A setting as its schema declares it: label, help, and the control that fits its type."""

from __future__ import annotations

from dataclasses import Field
from typing import Any

from PySide6.QtCore import QCoreApplication, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from app.ui.theme import set_role, ui_font
from app.ui.widgets.accent_choice import AccentChoice
from app.ui.widgets.calm_spin_box import CalmSpinBox
from app.ui.widgets.choice_button import ChoiceButton

_FIELD_WIDTH = 210
_TEXT_WIDTH = 280
_LONG_HEIGHT = 110
_TYPING_DELAY_MS = 400


def translated(text: str) -> str:
    """A text of the schema in the language of the window."""
    return QCoreApplication.translate("Settings", text) if text else ""


class SettingRow(QWidget):
    """Signals:
    changed(str, object): the setting's name and the value that the user gave it.
    """

    changed = Signal(str, object)

    def __init__(self, declared: Field[Any], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = declared.name
        self._declared = declared
        self._meta = declared.metadata
        self._is_whole = isinstance(declared.default, int)
        self._typing = QTimer(self, singleShot=True, interval=_TYPING_DELAY_MS)
        self._typing.timeout.connect(self._emit_text)
        self.label = QLabel(translated(self._meta["label"]))
        self.help = QLabel(translated(self._meta["help"]))
        self.control = self._create_control()
        self._build()
        for edit in (*self.findChildren(QLineEdit), *self.findChildren(QPlainTextEdit)):
            edit.setAcceptDrops(False)  # the window takes them

    def set_value(self, value: Any) -> None:
        """Shows a value without telling anyone."""
        control = self.control
        control.blockSignals(True)
        match control:
            case ChoiceButton() | AccentChoice():
                control.set_value(value)
            case QCheckBox():
                control.setChecked(value)
            case CalmSpinBox():
                control.setValue(value)
            case QPlainTextEdit() if control.toPlainText() != value:
                control.setPlainText(value)
            case QLineEdit() if control.text() != value:
                control.setText(value)
        control.blockSignals(False)

    def flush(self) -> None:
        """Tells at once what was typed a moment ago."""
        if self._typing.isActive():
            self._typing.stop()
            self._emit_text()

    def _create_control(self) -> QWidget:
        if self.name == "accent":
            return self._create_swatches()
        if self._meta["choices"]:
            return self._create_choice()
        if isinstance(self._declared.default, bool):
            return self._create_switch()
        if isinstance(self._declared.default, int | float):
            return self._create_number()
        return self._create_long_text() if self._meta["is_long"] else self._create_text()

    def _create_swatches(self) -> AccentChoice:
        names = {value: translated(label) for value, label in self._meta["choices"].items()}
        choice = AccentChoice(names)
        choice.value_changed.connect(self._emit)
        return choice

    def _create_choice(self) -> ChoiceButton:
        labels = {value: translated(label) for value, label in self._meta["choices"].items()}
        button = ChoiceButton(self.label.text(), labels)
        button.setMinimumWidth(_FIELD_WIDTH)
        button.value_changed.connect(self._emit)
        return button

    def _create_switch(self) -> QCheckBox:
        box = QCheckBox()
        box.setStyleSheet("spacing: 0")  # there are no words beside it
        box.toggled.connect(self._emit)
        return box

    def _create_number(self) -> CalmSpinBox:
        box = CalmSpinBox()
        box.setDecimals(0 if self._is_whole else 2)
        box.setSingleStep(1 if self._is_whole else 0.05)
        box.setRange(self._meta["least"], self._meta["most"])
        box.setKeyboardTracking(False)
        box.setFixedWidth(_FIELD_WIDTH)
        box.setGroupSeparatorShown(True)
        box.lineEdit().setTextMargins(7, 2, 4, 2)
        unit = translated(self._meta["unit"])
        box.setSuffix(f" {unit}" if unit else "")
        box.setSpecialValueText(translated(self._meta["zero_means"]))
        box.valueChanged.connect(self._emit_number)
        return box

    def _create_text(self) -> QLineEdit:
        edit = QLineEdit()
        edit.setFixedWidth(_TEXT_WIDTH)
        edit.textEdited.connect(self._typing.start)
        edit.editingFinished.connect(self.flush)
        return edit

    def _create_long_text(self) -> QPlainTextEdit:
        edit = QPlainTextEdit()
        edit.setProperty("kind", "field")
        edit.setTabChangesFocus(True)
        edit.setFixedHeight(_LONG_HEIGHT)
        edit.textChanged.connect(self._typing.start)
        return edit

    def _emit(self, value: object) -> None:
        self.changed.emit(self.name, value)

    def _emit_number(self, value: float) -> None:
        self._emit(round(value) if self._is_whole else value)

    def _emit_text(self) -> None:
        control = self.control
        if isinstance(control, QPlainTextEdit):
            self._emit(control.toPlainText())
        elif isinstance(control, QLineEdit):
            self._emit(control.text())

    def _build(self) -> None:
        self.help.setWordWrap(True)
        self.label.setWordWrap(True)
        self.help.setFont(ui_font(0.92))
        set_role(self.help, "tone", "muted")
        self.label.setBuddy(self.control)
        if not isinstance(self.control, ChoiceButton):  # whose name tells its value, too
            self.control.setAccessibleName(self.label.text())
        self.control.setAccessibleDescription(self.help.text())
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(24)
        layout.setVerticalSpacing(2)
        layout.addWidget(self.label, 0, 0)
        layout.addWidget(self.help, 1, 0)
        layout.setColumnStretch(0, 1)
        if isinstance(self.control, QPlainTextEdit):
            layout.addWidget(self.control, 2, 0)
        else:
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            layout.addWidget(self.control, 0, 1, 2, 1, right)
