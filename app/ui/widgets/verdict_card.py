"""How a validation ended, and what to do with it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.core.validation_events import ValidationReport, VerdictStatus
from app.ui.formats import format_duration
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.copy_button import CopyButton
from app.ui.widgets.saved_label import SavedLabel


class VerdictCard(Card):
    """Signals:
    save_requested: save the report.
    convert_requested: convert what was validated.
    """

    save_requested = Signal()
    convert_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._report: ValidationReport | None = None
        self.badge = QLabel()
        self.badge.setFont(ui_font(1.0, bold=True))
        self.badge.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.reason = QLabel()
        self.reason.setFont(ui_font(1.1))
        self.unverified = QLabel()
        self.saved = SavedLabel()
        for label in (self.reason, self.unverified):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.save_button = QPushButton(self.tr("Save report…"))
        self.convert_button = QPushButton(self.tr("Convert it"))
        self.copy_button = CopyButton(self._text, self.tr("Copy the report"))
        self._build()

    def show_report(self, report: ValidationReport, *, can_convert: bool) -> None:
        """Shows how it ended."""
        self._report = report
        self._show_badge(report)
        self.reason.setText(shown(report.verdict.reason))
        lines = [f"• {shown(line)}" for line in report.unverified]
        head = self.tr("Not verified, in {time} of checking:")
        time = format_duration(report.seconds)
        self.unverified.setText("\n".join([head.format(time=time), *lines]))
        self.unverified.setVisible(bool(lines))
        self.convert_button.setVisible(can_convert)
        self.saved.hide()

    def _show_badge(self, report: ValidationReport) -> None:
        num_failed = len(report.failed)
        if report.verdict.status is VerdictStatus.REFUSED:
            self._set_badge(self.tr("✕ Refused"), "danger")
        elif num_failed:
            text = self.tr("✕ {n} of {total} checks failed")
            self._set_badge(text.format(n=num_failed, total=len(report.checks)), "danger")
        elif report.verdict.status is VerdictStatus.CONVERT:
            self._set_badge(self.tr("✓ Runs after conversion"), "success")
        else:
            self._set_badge(self.tr("✓ Runs"), "success")

    def _set_badge(self, text: str, tone: str) -> None:
        self.badge.setText(text)
        set_role(self.badge, "badge", tone)

    def _text(self) -> str:
        return self._report.markdown if self._report is not None else ""

    def _build(self) -> None:
        set_role(self.unverified, "tone", "muted")
        set_role(self.convert_button, "kind", "primary")
        self.save_button.clicked.connect(self.save_requested)
        self.convert_button.clicked.connect(self.convert_requested)
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self.badge)
        head.addStretch()
        for button in (self.copy_button, self.save_button, self.convert_button):
            head.addWidget(button)
        self.rows.addLayout(head)
        for label in (self.reason, self.unverified, self.saved):
            self.rows.addWidget(label)
