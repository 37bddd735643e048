"""The reply that is running: its text on the way to the disk and, at a calmer pace, to the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.chat.reply_writer import ReplyWriter
from app.chat.store import ChatStore
from app.chat.transcript import Turn, TurnStats
from app.controllers.token_rate import TokenRate
from app.core.events import TokensGenerated

# Painting is what costs: 14 ms a token in one growing paragraph, 0.2 ms batched at this rate.
_TEXT_INTERVAL_MS = 33
_RATE_INTERVAL_MS = 250


class RunningReply(QObject):
    """One reply from its first token to `close`.

    Signals:
        text_appended(conversation_id, str): what came since the last time, about 30 times a second.
        tokens_per_second(float): a few times a second, from the first text on.
    """

    text_appended = Signal(str, str)
    tokens_per_second = Signal(float)

    def __init__(
        self,
        conversation_id: str,
        request_id: str,
        writer: ReplyWriter,
        parent: QObject,
        earlier: Turn | None = None,
    ) -> None:
        """`earlier`: the turn as it was, where it goes on."""
        super().__init__(parent)
        self._earlier = earlier
        self.conversation_id = conversation_id
        self.request_id = request_id
        self.writer = writer
        self._rate = TokenRate()
        self._parts: list[str] = []
        self._num_told = 0
        self._timers = (
            self._start_timer(_TEXT_INTERVAL_MS, self._on_text_timer_timeout),
            self._start_timer(_RATE_INTERVAL_MS, self._on_rate_timer_timeout),
        )

    @property
    def text(self) -> str:
        """All of it so far."""
        return self._join(len(self._parts))

    @property
    def told_text(self) -> str:
        """What `text_appended` has told of it."""
        return self._join(self._num_told)

    def _join(self, num_parts: int) -> str:
        before = self._earlier.content if self._earlier else ""
        return before + "".join(self._parts[:num_parts])

    def add(self, event: TokensGenerated) -> None:
        """New tokens: the text goes to the writer at once, to the page with the next tick."""
        # Another server tells no ids: each piece of text is taken for a token.
        self._rate.add(len(event.token_ids) or bool(event.text), time.monotonic())
        if event.text:
            self._parts.append(event.text)
            self.writer.append(event.text)

    def finish(self, store: ChatStore, stats: TurnStats | None) -> Turn:
        """Ends it and saves the rest; `stats` None: interrupted. Raises ChatStoreError."""
        self.close()
        return store.finish_reply(self.writer, self._with_earlier(stats))

    def _with_earlier(self, stats: TurnStats | None) -> TurnStats | None:
        """The numbers of the last part, but all tokens."""
        before = self._earlier.stats if self._earlier else None
        if before is None or (stats is None and self._parts):
            return stats
        if stats is None:
            return before
        num_tokens = before.completion_tokens + stats.completion_tokens
        return replace(stats, completion_tokens=num_tokens)

    def close(self) -> None:
        """Tells the rest of the text; no signal comes after that."""
        for timer in self._timers:
            timer.stop()
        self._on_text_timer_timeout()
        self.deleteLater()

    def to_turn(self, stats: TurnStats | None) -> Turn:
        """The turn as it would have been saved, for a reader whose disk is full."""
        return Turn(
            turn_id=self.writer.turn_id,
            role="assistant",
            content=self.text,
            created=datetime.now(UTC),
            stats=self._with_earlier(stats),
            is_interrupted=stats is None,
        )

    @Slot()
    def _on_text_timer_timeout(self) -> None:
        text = "".join(self._parts[self._num_told :])
        self._num_told = len(self._parts)
        if text:
            self.text_appended.emit(self.conversation_id, text)

    @Slot()
    def _on_rate_timer_timeout(self) -> None:
        if self._parts:  # until then the prompt is read, at a speed of its own
            self.tokens_per_second.emit(self._rate.measure(time.monotonic()))

    def _start_timer(self, interval_ms: int, slot: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setInterval(interval_ms)
        timer.timeout.connect(slot)
        timer.start()
        return timer
