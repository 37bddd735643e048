"""One check of a validation: how it stands, what it found, and the figures behind it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.core.validation_events import Check, CheckStatus, Metric, PlannedCheck
from app.ui.accessible import Role, as_role
from app.ui.icons import IconLabel
from app.ui.sentences import shown
from app.ui.theme import mono_font, set_role, ui_font
from app.ui.widgets.fold_button import FoldButton

_ICON_SIZE, _GAP = 20, 12
_TONES = {CheckStatus.PASS: "success", CheckStatus.FAIL: "danger", CheckStatus.NOT_RUN: "muted"}


class CheckRow(QWidget):
    """Waiting, running, or ended. The figures are folded, but those of a failure."""

    told_as = as_role(Role.Grouping)

    def __init__(self, planned: PlannedCheck, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._head = QHBoxLayout()
        self._icon: IconLabel | None = None
        self.title = QLabel(shown(planned.title))
        self.title.setFont(ui_font(1.0, bold=True))
        self.title.setWordWrap(True)
        self.state = QLabel()
        self.detail, self.figures = QLabel(), QLabel()
        self.figures.setFont(mono_font(0.86))
        self.figures_button = FoldButton(self.tr("Figures"))
        self.figures_button.toggled.connect(self.figures.setVisible)
        policy = self.figures_button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # rows with and without figures are alike
        self.figures_button.setSizePolicy(policy)
        self.figures_button.hide()
        for label in (self.detail, self.figures):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            set_role(label, "tone", "muted")
            label.hide()
        self._build()
        self._show_state("pending", "muted", self.tr("waiting"))

    def show_running(self) -> None:
        """It has begun."""
        self._show_state("running", "accent", self.tr("running…"))

    def show_step(self, step: str) -> None:
        """What it is at."""
        self.detail.setText(step)
        self.detail.show()

    def show_stopped(self) -> None:
        """It had no chance to end."""
        self.detail.hide()
        self._show_state("not_run", "muted", self.tr("not run"))

    def show_check(self, check: Check) -> None:
        """It has ended."""
        words = {
            CheckStatus.PASS: self.tr("pass"),
            CheckStatus.FAIL: self.tr("fail"),
            CheckStatus.NOT_RUN: self.tr("not run"),
        }
        self._show_state(check.status.value, _TONES[check.status], words[check.status])
        self.detail.setText(shown(check.detail))
        self.detail.setVisible(bool(check.detail))
        is_failure = check.status is CheckStatus.FAIL
        set_role(self.detail, "tone", "danger" if is_failure else "muted")
        self.figures.setText("\n".join(map(_format, check.metrics.items())))
        self.figures_button.setVisible(bool(check.metrics))
        self.figures_button.setChecked(is_failure and bool(check.metrics))

    def _show_state(self, icon_name: str, tone: str, word: str) -> None:
        if self._icon is not None:
            self._icon.hide()
            self._icon.deleteLater()
        self._icon = IconLabel(icon_name, size=_ICON_SIZE, tone=tone)
        self._head.insertWidget(0, self._icon)
        self.state.setText(word)
        set_role(self.state, "tone", tone)
        self.setAccessibleName(f"{self.title.text()}: {word}")
        figures = self.tr("Figures of {check}").format(check=self.title.text())
        self.figures_button.setAccessibleName(figures)

    def _build(self) -> None:
        self._head.setSpacing(_GAP)
        self._head.addWidget(self.title, 1)
        self._head.addWidget(self.figures_button)
        self._head.addWidget(self.state)
        texts = QVBoxLayout()
        texts.setContentsMargins(_ICON_SIZE + _GAP, 0, 0, 0)
        texts.setSpacing(2)
        texts.addWidget(self.detail)
        texts.addWidget(self.figures)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 5, 0, 5)
        rows.setSpacing(2)
        rows.addLayout(self._head)
        rows.addLayout(texts)


def _format(metric: tuple[str, Metric]) -> str:
    name, value = metric
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{shown(name)}  {text}"
