"""Memory by cause and tokens per second: numbers at once, plots as soon as pyqtgraph is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QThread
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from app.core.cards import CardSample
from app.core.events import MemorySampled
from app.core.units import format_bytes
from app.ui.theme import current_tokens, set_role, ui_font

if TYPE_CHECKING:
    from app.ui.widgets.plots import MemoryPlot, RatePlot


class _PlotImport(QThread):
    """Imports pyqtgraph and NumPy (0.3 s) away from the GUI thread."""

    def run(self) -> None:
        import app.ui.widgets.plots  # noqa: F401


class _Swatch(QWidget):
    """A square in one of the plot's colours."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token
        self.setFixedSize(10, 10)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(getattr(current_tokens(), self._token)))
        painter.drawRoundedRect(self.rect(), 3, 3)


class LivePanel(QWidget):
    """Takes samples from the start; `start` brings the plots."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.memory_plot: MemoryPlot | None = None
        self.rate_plot: RatePlot | None = None
        self._import = _PlotImport(self)
        self._import.finished.connect(self._on_import_finished)
        self._values = {name: QLabel("–") for name in ("weights", "kv", "workspace", "rest")}
        self._total = QLabel(self.tr("No model loaded"))
        self._spill = _create_warning()
        self._rate = QLabel("–")
        self._memory_slot = QVBoxLayout()
        self._rate_slot = QVBoxLayout()
        self._build()

    def start(self) -> None:
        """Loads the plots; call after the first paint."""
        if not self._import.isRunning() and self.memory_plot is None:
            self._import.start(QThread.Priority.LowPriority)

    def shutdown(self) -> None:
        """Waits for the import, which cannot be interrupted, before the application goes."""
        self._import.wait()

    def add_memory(self, sample: MemorySampled) -> None:
        """One more sample of the engine's memory."""
        for label, size in zip(self._values.values(), sample.parts, strict=True):
            label.setText(format_bytes(size))
        used, total = format_bytes(sample.used_bytes), format_bytes(sample.ceiling_bytes)
        self._total.setText(self.tr("{used} of {total}").format(used=used, total=total))
        self._show_card(sample.card)
        if self.memory_plot is not None and self.isVisible():
            self.memory_plot.add(sample)

    def _show_card(self, card: CardSample | None) -> None:
        """What is the card's, in words; a warning where Windows moves memory out of it."""
        self._total.setToolTip("" if card is None else self._describe(card))
        self._spill.setVisible(card is not None and card.spilled_bytes > 0)
        if card is not None and card.spilled_bytes:
            text = self.tr("{size} do not fit the card: Windows keeps them in slow shared memory.")
            self._spill.setText(text.format(size=format_bytes(card.spilled_bytes)))

    def _describe(self, card: CardSample) -> str:
        text = self.tr("{name}: CUDA itself {context}; graphs replayed: {count}, busy {busy}")
        return text.format(
            name=card.name,
            context=format_bytes(card.context_bytes),
            count=card.num_replays,
            busy=f"{card.busy_share:.0%}",
        )

    def add_rate(self, tok_s: float) -> None:
        """One more measurement of the speed."""
        self._rate.setText(self.tr("{rate} tok/s").format(rate=f"{tok_s:.1f}"))
        if self.rate_plot is not None and self.isVisible():
            self.rate_plot.add(tok_s)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            for plot in (self.memory_plot, self.rate_plot):
                if plot is not None:
                    plot.apply_theme()

    def _on_import_finished(self) -> None:
        from app.ui.widgets.plots import MemoryPlot, RatePlot

        self.memory_plot = MemoryPlot(self.tr("Memory over time"))
        self.rate_plot = RatePlot(self.tr("Tokens per second over time"))
        self._memory_slot.addWidget(self.memory_plot)
        self._rate_slot.addWidget(self.rate_plot)

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(_create_head(self.tr("Memory"), self._total))
        layout.addLayout(self._memory_slot)
        layout.addLayout(self._create_legend())
        layout.addWidget(self._spill)
        layout.addSpacing(8)
        layout.addLayout(_create_head(self.tr("Speed"), self._rate))
        layout.addLayout(self._rate_slot)

    def _create_legend(self) -> QGridLayout:
        names = (
            (self.tr("Weights"), "plot_weights"),
            (self.tr("KV cache"), "plot_kv"),
            (self.tr("Workspace"), "plot_workspace"),
            (self.tr("Rest"), "plot_rest"),
        )
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(2)
        for cell, ((name, token), value) in enumerate(
            zip(names, self._values.values(), strict=True)
        ):
            row, column = divmod(cell, 2)
            grid.addWidget(_Swatch(token), row, column * 3)
            grid.addWidget(_small(QLabel(name)), row, column * 3 + 1)
            grid.addWidget(_small(value), row, column * 3 + 2)
        grid.setColumnStretch(2, 1)
        grid.setColumnStretch(5, 1)
        return grid


def _create_warning() -> QLabel:
    label = QLabel()
    label.setFont(ui_font(0.84))
    label.setWordWrap(True)
    set_role(label, "tone", "danger")
    label.hide()
    return label


def _small(label: QLabel) -> QLabel:
    label.setFont(ui_font(0.84))
    set_role(label, "tone", "muted")
    return label


def _create_head(title: str, value: QLabel) -> QGridLayout:
    name = QLabel(title)
    name.setFont(ui_font(1.0, bold=True))
    row = QGridLayout()
    row.addWidget(name, 0, 0)
    row.addWidget(_small(value), 0, 1)
    row.setColumnStretch(0, 1)
    return row
