"""The live plots. Imports pyqtgraph, and with it NumPy: import it after the first paint only."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.core.events import MemorySampled
from app.ui.theme import Tokens, current_tokens, ui_font

WINDOW_S = 120.0
MIN_WINDOW_S = 20.0
# A drawing costs about 7 ms: at 4 samples a second 3 % of a core, at this interval half of it.
_MIN_REDRAW_S = 0.4
_MIB = 1024.0**2
# From this part of the machine on the ceiling is in view; below, it would flatten the curves.
_CEILING_FRACTION = 1 / 6


class _TimePlot(pg.PlotWidget):
    """The last two minutes; nothing to click or drag."""

    def __init__(self, accessible_name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, background=None)
        self.setAccessibleName(accessible_name)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAcceptDrops(False)
        self.setMouseEnabled(x=False, y=False)
        self.hideButtons()
        self.setMenuEnabled(False)
        self.setFixedHeight(100)
        self._started = time.monotonic()
        self.setYRange(0, 1, padding=0)
        axis = self.getAxis("bottom")
        axis.setStyle(showValues=False, tickLength=0)
        axis.setHeight(7)  # half of the lowest label of the other axis
        self.getAxis("left").setWidth(44)
        self.getAxis("left").setStyle(showValues=False)  # nothing to read before the first sample
        self.getAxis("left").setStyle(tickFont=ui_font(0.8), tickLength=-3, maxTickLevel=0)

    def show_time(self, now: float, samples: deque[Any]) -> None:
        """The last two minutes, or since the start; older samples (time, ...) are forgotten."""
        self.getAxis("left").setStyle(showValues=True)
        while samples[0][0] < now - WINDOW_S:
            samples.popleft()
        self.setXRange(-min(WINDOW_S, max(MIN_WINDOW_S, now - self._started)), 0, padding=0)

    def apply_axis_colours(self, tokens: Tokens) -> None:
        """The theme's colours on axes and grid."""
        for name in ("left", "bottom"):
            self.getAxis(name).setPen(pg.mkPen(tokens.border))
            self.getAxis(name).setTextPen(pg.mkPen(tokens.muted))


class MemoryPlot(_TimePlot):
    """The engine's memory, stacked by cause, in MiB, under the card's or the machine's."""

    def __init__(self, accessible_name: str, parent: QWidget | None = None) -> None:
        super().__init__(accessible_name, parent)
        self._samples: deque[tuple[float, tuple[float, ...]]] = deque()
        self._curves = [self.plot() for _ in range(5)]
        self._bands = [pg.FillBetweenItem(self._curves[i + 1], self._curves[i]) for i in range(4)]
        for band in self._bands:
            self.addItem(band)
        self._ceiling = pg.InfiniteLine(angle=0)
        self._ceiling.hide()
        self.addItem(self._ceiling)
        self.apply_theme()

    def add(self, sample: MemorySampled) -> None:
        """One more sample."""
        self._samples.append((time.monotonic(), _stack(sample)))
        ceiling = sample.ceiling_bytes / _MIB
        self._ceiling.setValue(ceiling)
        self._ceiling.show()
        self._draw(ceiling)

    @property
    def top_values(self) -> list[float]:
        """The newest sample as drawn: the edges of the bands, in MiB, from the ground up."""
        return [float(curve.yData[-1]) for curve in self._curves]

    def apply_theme(self) -> None:
        """Takes the current theme's colours."""
        tokens = current_tokens()
        self.apply_axis_colours(tokens)
        colours = (tokens.plot_weights, tokens.plot_kv, tokens.plot_workspace, tokens.plot_rest)
        for band, colour in zip(self._bands, colours, strict=True):
            band.setBrush(pg.mkBrush(colour))
        for curve in self._curves:
            curve.setPen(None)
        self._ceiling.setPen(pg.mkPen(tokens.danger, width=1.5, style=Qt.PenStyle.DashLine))

    def _draw(self, total_mib: float) -> None:
        now = time.monotonic()
        self.show_time(now, self._samples)
        times = [moment - now for moment, _ in self._samples]
        for level, curve in enumerate(self._curves):
            curve.setData(times, [stack[level] for _, stack in self._samples])
        peak = max(stack[-1] for _, stack in self._samples)
        top = total_mib * 1.05 if peak > total_mib * _CEILING_FRACTION else peak * 1.25
        self.setYRange(0, max(top, 1.0), padding=0)


class RatePlot(_TimePlot):
    """Tokens per second."""

    def __init__(self, accessible_name: str, parent: QWidget | None = None) -> None:
        super().__init__(accessible_name, parent)
        self._samples: deque[tuple[float, float]] = deque()
        self._drawn_at = 0.0
        self._curve = self.plot()
        self.apply_theme()

    def add(self, tok_s: float) -> None:
        """One more sample."""
        now = time.monotonic()
        self._samples.append((now, tok_s))
        if now - self._drawn_at >= _MIN_REDRAW_S:
            self._drawn_at = now
            self._draw(now)

    def _draw(self, now: float) -> None:
        self.show_time(now, self._samples)
        rates = [rate for _, rate in self._samples]
        self._curve.setData([moment - now for moment, _ in self._samples], rates)
        self.setYRange(0, max(1.0, max(rates) * 1.2), padding=0)

    def apply_theme(self) -> None:
        """Takes the current theme's colours."""
        tokens = current_tokens()
        self.apply_axis_colours(tokens)
        fill = pg.mkColor(tokens.plot_kv)
        fill.setAlpha(50)
        self._curve.setPen(pg.mkPen(tokens.plot_kv, width=2))
        self._curve.setFillLevel(0)
        self._curve.setBrush(fill)


def _stack(sample: MemorySampled) -> tuple[float, ...]:
    levels = [0.0]
    for part in sample.parts:
        levels.append(levels[-1] + part / _MIB)
    return tuple(levels)
