"""Memory by cause and tokens per second: numbers at once, plots as soon as pyqtgraph is there."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QThread, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QMenu, QToolButton, QVBoxLayout, QWidget

from app.core.cards import CardSample
from app.core.events import MemorySampled, PrefillProgressed
from app.core.units import format_bytes
from app.ui.formats import format_count, format_share
from app.ui.icons import IconButton, SwapButton
from app.ui.live_history import LiveHistory
from app.ui.theme import current_tokens, set_role, ui_font
from app.ui.widgets.live_export import LiveExport
from app.ui.widgets.saved_label import SavedLabel

if TYPE_CHECKING:
    from app.ui.widgets.plots import MemoryPlot, RatePlot


# A drawing of ten minutes costs about 20 ms, which is to stay below 3 % of a core.
_REDRAW_MS = 500
_LONG_S, _LONG_REDRAW_MS = 60.0, 1000  # of more than a minute a pixel is longer than that


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
        self.history = LiveHistory()
        self.export = LiveExport(self, self.to_csv)
        self.saved = SavedLabel()
        self.pause_button = SwapButton("pause", self.tr("Hold the plots still"), size=16)
        self.save_button = IconButton("save", self.tr("Save the numbers or a picture"), size=16)
        self._redraw = QTimer(self, singleShot=True, interval=_REDRAW_MS)
        self.memory_plot: MemoryPlot | None = None
        self.rate_plot: RatePlot | None = None
        self._import = _PlotImport(self)
        self._import.finished.connect(self._on_import_finished)
        self._values = {name: QLabel("–") for name in ("weights", "kv", "workspace", "rest")}
        self._total = QLabel(self.tr("No model loaded"))
        self._spill = _create_note("danger")
        self._rate = QLabel("–")
        self._work = _create_note("muted")
        self._memory_slot = QVBoxLayout()
        self._rate_slot = QVBoxLayout()
        self._is_outdated = False
        self._sample: MemorySampled | None = None
        self._redraw.timeout.connect(self._on_redraw_due)
        self._build()

    def start(self) -> None:
        """Loads the plots; call after the first paint."""
        if not self._import.isRunning() and self.memory_plot is None:
            self._import.start(QThread.Priority.LowPriority)

    def shutdown(self) -> None:
        """Waits for the import, which cannot be interrupted, before the application goes."""
        self._import.wait()
        self.export.saver.shutdown()

    def add_memory(self, sample: MemorySampled) -> None:
        """One more sample of the engine's memory."""
        self._show_sample(sample)
        self.history.add_memory(sample, time.monotonic())
        self._draw_soon()

    def take_over(self, old: LivePanel) -> None:
        """Goes on with what `old` has measured."""
        self.history = old.history
        self.pause_button.setChecked(old.pause_button.isChecked())
        if old._sample is not None:
            self._show_sample(old._sample)
        self.end_reply()

    def _show_sample(self, sample: MemorySampled) -> None:
        self._sample = sample
        for label, size in zip(self._values.values(), sample.parts, strict=True):
            label.setText(format_bytes(size))
        used, total = format_bytes(sample.used_bytes), format_bytes(sample.ceiling_bytes)
        self._total.setText(self.tr("{used} of {total}").format(used=used, total=total))
        self._show_card(sample.card)

    def _show_card(self, card: CardSample | None) -> None:
        """What is the card's, in words; a warning where Windows moves memory out of it."""
        self._total.setToolTip("" if card is None else self._describe(card))
        self._work.setVisible(card is not None)
        self._work.setText("" if card is None else self._describe_work(card))
        self._spill.setVisible(card is not None and card.spilled_bytes > 0)
        if card is not None and card.spilled_bytes:
            text = self.tr("{size} do not fit the card: Windows keeps them in slow shared memory.")
            self._spill.setText(text.format(size=format_bytes(card.spilled_bytes)))

    def _describe(self, card: CardSample) -> str:
        text = self.tr("{name}: CUDA itself {context}")
        return text.format(name=card.name, context=format_bytes(card.context_bytes))

    def _describe_work(self, card: CardSample) -> str:
        """Graphs and kernels, for each token while there are any."""
        text = self.tr("Kernels run {busy} of the time; graphs replayed: {count}")
        if card.replays_per_token:
            text = self.tr(
                "Kernels run {busy} of the time; graphs replayed: {count}, {replays} for a token, "
                "with {launches} kernels"
            )
        return text.format(
            busy=format_share(card.busy_share, 0),
            count=format_count(card.num_replays),
            replays=f"{card.replays_per_token:.2f}",
            launches=format_count(round(card.launches_per_token)),
        )

    def add_rate(self, tok_s: float) -> None:
        """One more measurement of the speed."""
        self._show_rate(tok_s)
        self.history.add_rate(tok_s, time.monotonic())
        self._draw_soon()

    def _show_rate(self, tok_s: float) -> None:
        self._rate.setText(self.tr("{rate} tok/s").format(rate=f"{tok_s:.1f}"))

    def show_prefill(self, progress: PrefillProgressed) -> float:
        """How much of the prompt has been read, until the first token comes; returns the tokens per
        second that it is read with, 0 while that is unknown."""
        point = self.history.add_prompt(progress, time.monotonic())
        text = self.tr("prompt: {done} of {total} tokens")
        if point.tok_s:
            text = self.tr("prompt: {done} of {total} tokens, {rate} tok/s")
        done, total = format_count(progress.num_done), format_count(progress.num_prompt)
        rate = format_count(round(point.tok_s))
        self._rate.setText(text.format(done=done, total=total, rate=rate))
        self._draw_soon()
        return point.tok_s

    def end_reply(self) -> None:
        """What was told of a prompt is over: the last speed stands there again, if there is one."""
        if self.history.rates:
            self._show_rate(self.history.rates[-1].tok_s)
        else:
            self._rate.setText("–")

    def to_csv(self) -> str:
        """The last ten minutes as a table."""
        return self.history.to_csv(time.monotonic(), datetime.now().astimezone())

    def draw(self) -> None:
        """Shows the newest samples; those that come while the plots are held still come later."""
        if self.pause_button.isChecked() or not self.isVisible():
            return
        for plot in (self.memory_plot, self.rate_plot):
            if plot is not None:
                plot.draw(self.history, time.monotonic())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.draw()

    def _draw_soon(self) -> None:
        """The first sample at once, the others that come within the interval with the next."""
        if not self._redraw.isActive():
            self.draw()
            self._redraw.start(_LONG_REDRAW_MS if self.history.span_s > _LONG_S else _REDRAW_MS)
        else:
            self._is_outdated = True

    def _on_redraw_due(self) -> None:
        if self._is_outdated:
            self._is_outdated = False
            self._draw_soon()

    def _on_pause_toggled(self, is_paused: bool) -> None:
        hold, go_on = self.tr("Hold the plots still"), self.tr("Let the plots go on")
        self.pause_button.set_label(go_on if is_paused else hold)
        self.pause_button.set_icon_name("chevron_right" if is_paused else "pause")
        self.draw()

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
        self.draw()

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        self._setup_buttons()
        buttons = self.pause_button, self.save_button
        layout.addLayout(_create_head(self.tr("Memory"), self._total, *buttons))
        layout.addLayout(self._memory_slot)
        layout.addLayout(self._create_legend())
        layout.addWidget(self._spill)
        layout.addSpacing(8)
        layout.addLayout(_create_head(self.tr("Speed"), self._rate))
        layout.addLayout(self._rate_slot)
        layout.addWidget(self._work)
        layout.addWidget(self.saved)

    def _setup_buttons(self) -> None:
        self.pause_button.setCheckable(True)
        self.pause_button.toggled.connect(self._on_pause_toggled)
        self.export.saver.saved.connect(self.saved.show_file)
        self.export.saver.failed.connect(self.saved.show_error)
        menu = QMenu(self)
        menu.setAccessibleName(self.save_button.accessibleName())
        menu.addAction(self.tr("Numbers as CSV…"), self.export.ask_for_table)
        menu.addAction(self.tr("Picture…"), self.export.ask_for_picture)
        self.save_button.setMenu(menu)
        self.save_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)

    def _create_legend(self) -> QGridLayout:
        names = (
            (self.tr("Weights"), "plot_weights"),
            (self.tr("KV cache"), "plot_kv"),
            (self.tr("Workspace"), "plot_workspace"),
            (self.tr("Rest"), "plot_rest"),
        )
        grid = QGridLayout()
        grid.setHorizontalSpacing(4)  # room for the widest figures
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


def _create_note(tone: str) -> QLabel:
    """Several lines, hidden until there is something to say."""
    label = QLabel()
    label.setFont(ui_font(0.84))
    label.setWordWrap(True)
    set_role(label, "tone", tone)
    label.hide()
    return label


def _small(label: QLabel) -> QLabel:
    label.setFont(ui_font(0.84))
    set_role(label, "tone", "muted")
    return label


def _create_head(title: str, value: QLabel, *buttons: IconButton) -> QGridLayout:
    name = QLabel(title)
    name.setFont(ui_font(1.0, bold=True))
    row = QGridLayout()
    row.addWidget(name, 0, 0)
    row.addWidget(_small(value), 0, 1)
    for column, button in enumerate(buttons, 2):
        row.addWidget(button, 0, column)
    row.setColumnStretch(0, 1)
    return row
