"""Too little memory: what is needed, what is free, who holds the rest, and what would fit."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QCoreApplication, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.core.events import ErrorInfo
from app.core.memory_shortage import MemoryHolder, MemoryRemedy, MemoryShortage, RemedyKind
from app.core.sentence import listing
from app.core.units import format_bytes
from app.ui.accessible import Role, as_role
from app.ui.formats import format_count
from app.ui.problems import Problem, Way, describe
from app.ui.sentences import shown
from app.ui.theme import current_tokens
from app.ui.widgets.problem_banner import ProblemBanner

_BAR_HEIGHT = 8
translate = QCoreApplication.translate


class ShortageBanner(ProblemBanner):
    """One button for each remedy with the context that it gives; the first is the nearest.

    Signals:
    remedy_requested(MemoryRemedy): load with it.
    """

    remedy_requested = Signal(object)

    def __init__(
        self,
        error: ErrorInfo,
        shortage: MemoryShortage,
        *,
        has_source: bool = False,
        can_retry: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """`has_source`: the model's source is known, so that it can be converted again."""
        known = describe(error)
        ways = (Way.RETRY, Way.MODELS) if can_retry else (Way.MODELS,)
        super().__init__(
            Problem(
                known.title,
                needs_text(shortage),
                holders_text(shortage.holders),
                "\n\n".join(part for part in (known.reason, error.detail) if part),
            ),
            parent=parent,
        )
        self.bar = ShortageBar(shortage)
        self.body.rows.addSpacing(4)
        self.body.rows.addWidget(self.bar)
        self.body.rows.addWidget(self.body.advice)  # below the buttons, which a low window shows
        remedies = [r for r in shortage.remedies if has_source or r.kind is not RemedyKind.W3]
        for index, remedy in enumerate(remedies):
            self.add_button(
                remedy_text(remedy),
                partial(self.remedy_requested.emit, remedy),
                is_primary=index == 0,
            )
        for way in ways:
            self.add_way(way)


class ShortageBar(QWidget):
    """What is free beside what is needed, to scale."""

    told_as = as_role(Role.Graphic)

    def __init__(self, shortage: MemoryShortage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._free_share = min(1.0, shortage.free_bytes / max(1, shortage.needed_bytes))
        self.setFixedHeight(_BAR_HEIGHT)
        self.setAccessibleName(self.tr("Free of what is needed: {n} %").format(n=self._percent))
        self.setToolTip(self.accessibleName())

    @property
    def _percent(self) -> int:
        return int(100 * self._free_share)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, painter = current_tokens(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        whole = QRectF(self.rect())
        free = QRectF(0, 0, whole.width() * self._free_share, whole.height())
        for area, colour in ((whole, tokens.danger), (free, tokens.success)):
            painter.setBrush(QColor(colour))
            painter.drawRoundedRect(area, _BAR_HEIGHT / 2, _BAR_HEIGHT / 2)


def needs_text(shortage: MemoryShortage) -> str:
    """Needed, of what that consists, and what is free."""
    text = translate(
        "ShortageBanner",
        "{needed} are needed: {weights} for weights, {kv} for a context of {context} tokens, "
        "{workspace} to work in. {free} of {total} are free on the {place}.",
    )
    if not shortage.card:
        text = translate(
            "ShortageBanner",
            "{needed} are needed: {weights} for weights, {kv} for a context of {context} tokens, "
            "{workspace} to work in. {free} of the computer's {total} are free.",
        )
    return text.format(
        needed=format_bytes(shortage.needed_bytes),
        weights=format_bytes(shortage.weights_bytes),
        kv=format_bytes(shortage.kv_bytes),
        workspace=format_bytes(shortage.workspace_bytes),
        context=format_count(shortage.max_model_len),
        free=format_bytes(shortage.free_bytes),
        total=format_bytes(shortage.total_bytes),
        place=shortage.card,
    )


def holders_text(holders: tuple[MemoryHolder, ...]) -> str:
    """Who has most of the memory; '' where nobody knows."""
    names = [
        shown(one.name)
        if one.num_bytes is None
        else f"{shown(one.name)} {format_bytes(one.num_bytes)}"
        for one in holders
    ]
    return (
        translate("ShortageBanner", "Held by {names}").format(names=shown(listing(names)))
        if names
        else ""
    )


def remedy_text(remedy: MemoryRemedy) -> str:
    """Its button: what it changes, and the context that it gives."""
    texts = {
        RemedyKind.CONTEXT: translate("ShortageBanner", "Context of {n} tokens"),
        RemedyKind.INT8_KV: translate("ShortageBanner", "8-bit KV cache: {n} tokens"),
        RemedyKind.W3: translate("ShortageBanner", "Convert to 3 bits ({size}): {n} tokens"),
    }
    return texts[remedy.kind].format(
        n=format_count(remedy.max_model_len), size=format_bytes(remedy.weights_bytes)
    )
