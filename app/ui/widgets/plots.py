"""The live plots. Imports pyqtgraph, and with it NumPy: import it after the first paint only."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QToolTip, QWidget

from app.core.units import format_bytes
from app.ui.accessible import Role, as_role
from app.ui.formats import format_count, format_duration
from app.ui.live_history import WINDOW_S, LiveHistory, MemoryPoint, Point, PromptPoint, RatePoint
from app.ui.theme import Tokens, current_tokens, ui_font

_MIN_WINDOW_S = 20.0
_MIB = 1024.0**2
_MOST_DRAWN = 240  # points: about one for each pixel; ten minutes hold 2,400
_SHORTEST_S = 0.25  # between two points
_REST_S = 2.0  # a running reply is measured several times a second
_HALF_LABEL = 8  # pixels: what the highest and the lowest label need beyond the axis
# From this part of the machine on the ceiling is in view; below, it would flatten the curves.
_CEILING_FRACTION = 1 / 6


AnyPoint = TypeVar("AnyPoint", MemoryPoint, RatePoint, PromptPoint)


class _MemoryAxis(pg.AxisItem):
    """MiB, from 1 GiB up GiB: ticks are round numbers of the unit that is shown."""

    def show_up_to(self, top_mib: float) -> None:
        """Chooses the unit."""
        self.setScale(1 / 1024 if top_mib >= 1024 else 1.0)

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        unit = "MiB" if scale == 1 else "GiB"
        return [f"{value * scale:.4g} {unit}" if value else "0" for value in values]


class _TimePlot(pg.PlotWidget):
    """The last minutes; nothing to click or drag, but pointing at a moment tells its values."""

    told_as = as_role(Role.Chart)

    def __init__(
        self, accessible_name: str, axis: pg.AxisItem | None = None, parent: QWidget | None = None
    ) -> None:
        axes = {"left": axis} if axis is not None else {}
        super().__init__(parent, background=None, axisItems=axes)
        self.setAccessibleName(accessible_name)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAcceptDrops(False)
        self.setMouseEnabled(x=False, y=False)
        self.hideButtons()
        self.setMenuEnabled(False)
        self.setFixedHeight(106)
        self.setYRange(0, 1, padding=0)
        self._times: list[float] = []
        bottom = self.getAxis("bottom")
        bottom.setStyle(showValues=False, tickLength=0)
        bottom.setHeight(_HALF_LABEL)
        self.plotItem.layout.setContentsMargins(0, _HALF_LABEL, 0, 0)
        self.getAxis("left").setWidth(50)
        self.getAxis("left").setStyle(showValues=False)  # nothing to read before the first sample
        self.getAxis("left").setStyle(tickFont=ui_font(0.8), tickLength=-3, maxTickLevel=0)
        self._pointer = pg.InfiniteLine(angle=90)
        self._pointer.hide()
        self.addItem(self._pointer, ignoreBounds=True)

    def show_times(self, points: Sequence[Point], now_s: float) -> list[float]:
        """Seconds before now, at most 0; shows as much of the past as there is, up to ten
        minutes."""
        self._times = [point.time_s - now_s for point in points]
        self.getAxis("left").setStyle(showValues=True)
        self.setXRange(min(-_MIN_WINDOW_S, max(-WINDOW_S, self._times[0])), 0, padding=0)
        return self._times

    def describe(self, index: int) -> str:
        """The values of a point, for the tool tip."""
        raise NotImplementedError

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if (index := self._nearest(event.position())) is None:
            return
        self._pointer.setValue(self._times[index])
        self._pointer.show()
        ago = self.tr("{time} ago").format(time=format_duration(-self._times[index]))
        QToolTip.showText(event.globalPosition().toPoint(), f"{ago}\n{self.describe(index)}", self)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._pointer.hide()

    def apply_axis_colours(self, tokens: Tokens) -> None:
        """The theme's colours below everything and on the axes."""
        self.setBackground(tokens.window)
        for name in ("left", "bottom"):
            self.getAxis(name).setPen(pg.mkPen(tokens.border))
            self.getAxis(name).setTextPen(pg.mkPen(tokens.muted))
        self._pointer.setPen(pg.mkPen(tokens.muted))

    def _nearest(self, position: QPointF) -> int | None:
        if not self._times:
            return None
        wanted = self.plotItem.vb.mapSceneToView(position).x()
        index = bisect.bisect_left(self._times, wanted)
        near = [i for i in (index - 1, index) if 0 <= i < len(self._times)]
        return min(near, key=lambda i: abs(self._times[i] - wanted))


class MemoryPlot(_TimePlot):
    """The engine's memory, stacked by cause, in MiB, under the card's or the machine's."""

    def __init__(self, accessible_name: str, parent: QWidget | None = None) -> None:
        self._axis = _MemoryAxis("left")
        super().__init__(accessible_name, self._axis, parent)
        self._points: list[MemoryPoint] = []
        self._curves = [self.plot() for _ in range(5)]
        self._bands = [pg.FillBetweenItem(self._curves[i + 1], self._curves[i]) for i in range(4)]
        for band in self._bands:
            self.addItem(band)
        self._ceiling = pg.InfiniteLine(angle=0)
        self._ceiling.hide()
        self.addItem(self._ceiling)
        self.apply_theme()

    @property
    def top_values(self) -> list[float]:
        """The newest sample as drawn: the edges of the bands, in MiB, from the ground up."""
        return [float(curve.yData[-1]) for curve in self._curves]

    def draw(self, history: LiveHistory, now_s: float) -> None:
        """Shows what is known at `now_s`."""
        self._points = thinned(history.memory, now_s)
        if not self._points:
            return
        times = self.show_times(self._points, now_s)
        stacks = [_stack(point) for point in self._points]
        for level, curve in enumerate(self._curves):
            curve.setData(times, [stack[level] for stack in stacks])
        self._show_ceiling(max(stack[-1] for stack in stacks))

    def describe(self, index: int) -> str:
        """Each cause in a line."""
        names = self.tr("Weights"), self.tr("KV cache"), self.tr("Workspace"), self.tr("Rest")
        pairs = zip(names, self._points[index].parts, strict=True)
        return "\n".join(f"{name} {format_bytes(size)}" for name, size in pairs)

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

    def _show_ceiling(self, peak_mib: float) -> None:
        ceiling = self._points[-1].ceiling_bytes / _MIB
        self._ceiling.setValue(ceiling)
        self._ceiling.show()
        top = ceiling * 1.05 if peak_mib > ceiling * _CEILING_FRACTION else peak_mib * 1.25
        self._axis.show_up_to(top)
        self.setYRange(0, max(top, 1.0), padding=0)


class RatePlot(_TimePlot):
    """Tokens per second; behind them, while a prompt is read, how much of it: from the ground to
    the top."""

    def __init__(self, accessible_name: str, parent: QWidget | None = None) -> None:
        super().__init__(accessible_name, parent=parent)
        self._points: list[RatePoint | PromptPoint] = []
        self._prompts = self.plot()
        self._curve = self.plot()
        self.apply_theme()

    def draw(self, history: LiveHistory, now_s: float) -> None:
        """Shows what is known at `now_s`."""
        drawn = thinned(history.rates, now_s)
        self._points = sorted([*drawn, *history.prompts], key=lambda point: point.time_s)
        if not self._points:
            return
        self.show_times(self._points, now_s)
        rates = [point.tok_s for point in drawn]
        curve = [(x - now_s, rate) for x, rate in with_rests(drawn, now_s)]
        self._curve.setData([x for x, _ in curve], [rate for _, rate in curve])
        top = max([1.0, *(rate * 1.2 for rate in rates)])
        ramps = [_ramp(list(of)) for _, of in groupby(history.prompts, lambda p: p.request_id)]
        edges = [edge for ramp in ramps for edge in ramp]
        self._prompts.setData([x - now_s for x, _ in edges], [share * top for _, share in edges])
        self.setYRange(0, top, padding=0)

    def describe(self, index: int) -> str:
        """The speed then, or how much of a prompt was read."""
        point = self._points[index]
        if isinstance(point, RatePoint):
            return self.tr("{rate} tok/s").format(rate=f"{point.tok_s:.1f}")
        text = self.tr("prompt: {done} of {total} tokens")
        if point.tok_s:
            text = self.tr("prompt: {done} of {total} tokens, {rate} tok/s")
        done, total = format_count(point.num_done), format_count(point.num_prompt)
        return text.format(done=done, total=total, rate=format_count(round(point.tok_s)))

    def apply_theme(self) -> None:
        """Takes the current theme's colours."""
        tokens = current_tokens()
        self.apply_axis_colours(tokens)
        fill = pg.mkColor(tokens.plot_kv)
        fill.setAlpha(50)
        self._curve.setPen(pg.mkPen(tokens.plot_kv, width=2))
        self._curve.setFillLevel(0)
        self._curve.setBrush(fill)
        behind = pg.mkColor(tokens.muted)
        behind.setAlpha(60)
        self._prompts.setPen(None)
        self._prompts.setFillLevel(0)
        self._prompts.setBrush(behind)


def thinned(points: Sequence[AnyPoint], now_s: float) -> list[AnyPoint]:
    """The last point of each stretch of time, so that no more are drawn than can be seen.

    Stretches lie still while time goes on, so that the curve does not tremble.
    """
    if len(points) <= _MOST_DRAWN:
        return list(points)
    stretch_s = _SHORTEST_S
    while (now_s - points[0].time_s) / stretch_s > _MOST_DRAWN:
        stretch_s *= 2
    return list({int(point.time_s / stretch_s): point for point in points}.values())


def with_rests(points: Sequence[RatePoint], now_s: float) -> Iterator[tuple[float, float]]:
    """Times and speeds; on the ground between two replies, where nothing is made."""
    span_s = now_s - points[0].time_s if points else 0.0
    longest_s = max(_REST_S, 4 * span_s / _MOST_DRAWN)  # `thinned` leaves less between two points
    if len(points) == 1:  # a line from the ground, as a point by itself is not drawn
        yield points[0].time_s, 0.0
    for number, point in enumerate(points):
        before = points[max(number - 1, 0)].time_s
        if point.time_s - before > longest_s:
            yield before, 0.0
            yield point.time_s, 0.0
        yield point.time_s, point.tok_s


def _ramp(points: Sequence[PromptPoint]) -> list[tuple[float, float]]:
    """Edges of what is filled, as seconds and a share of the height: a step for each chunk."""
    edges, share = [], 0.0
    for point in points:
        edges.append((point.time_s, share))
        share = point.num_done / point.num_prompt
        edges.append((point.time_s, share))
    return [*edges, (points[-1].time_s, 0.0)]


def _stack(point: MemoryPoint) -> tuple[float, ...]:
    levels = [0.0]
    for part in point.parts:
        levels.append(levels[-1] + part / _MIB)
    return tuple(levels)
