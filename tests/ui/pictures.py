"""A widget as a picture: what can be seen is whole, and what can be operated has a name."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

from app.ui.widgets.elided_label import ElidedLabel

# Where to keep the pictures, for whoever looks at them; they are not kept otherwise.
_FOLDER = os.environ.get("DEEPINFER_PICTURES", "")


def check_picture(widget: QWidget, name: str) -> None:
    """Draws the widget and fails for text that is cut off, and for controls without a name."""
    QApplication.processEvents()
    picture = widget.grab()
    assert not picture.isNull()
    if _FOLDER:
        Path(_FOLDER).mkdir(parents=True, exist_ok=True)
        assert picture.save(str(Path(_FOLDER) / f"{name}.png"))
    assert find_problems(widget) == []


def find_problems(widget: QWidget) -> list[str]:
    """What is cut off, beyond the edge, or cannot be named, a sentence each."""
    children = [child for child in widget.findChildren(QWidget) if child.isVisible()]
    return [problem for child in children if (problem := _problem_of(child, widget))]


def _problem_of(child: QWidget, root: QWidget) -> str:
    if isinstance(child, QLabel) and child.text() and not isinstance(child, ElidedLabel):
        return _clipped_label(child)
    if isinstance(child, QAbstractButton) and child.text():
        is_cut = child.width() < child.sizeHint().width() or child.height() < 16
        return f"the button {child.text()!r} is cut off" if is_cut else _outside(child, root)
    can_focus = child.focusPolicy() & Qt.FocusPolicy.TabFocus and not child.focusProxy()
    if can_focus and not child.accessibleName() and not getattr(child, "text", str)():
        return f"{type(child).__name__} in {type(child.parentWidget()).__name__} has no name"
    return ""


def _clipped_label(label: QLabel) -> str:
    if label.wordWrap():
        is_cut = label.height() < label.heightForWidth(label.width())
    else:
        is_cut = label.width() < label.sizeHint().width()
    return f"the label {label.text()!r} is cut off" if is_cut else ""


def _outside(child: QWidget, root: QWidget) -> str:
    right = child.mapTo(root, QPoint(child.width(), 0)).x()
    name = child.accessibleName() or type(child).__name__
    return f"{name} ends beyond the right edge" if right > root.width() else ""
