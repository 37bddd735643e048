"""The line in a transcript above which nothing fits into the context any more."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from app.ui.theme import set_role, ui_font


class ContextMark(QWidget):
    """A sentence between two rules."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        label = QLabel(self.tr("The model reads from here on; what stands above does not fit."))
        label.setFont(ui_font(0.88))
        set_role(label, "tone", "warning")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(_create_rule(), 1)
        layout.addWidget(label)
        layout.addWidget(_create_rule(), 1)


def _create_rule() -> QFrame:
    rule = QFrame()
    rule.setObjectName("rule")
    return rule
