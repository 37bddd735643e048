"""How much of the context a conversation takes, counted while its next message is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.chat.attachments import Attachment
from app.chat.transcript import Conversation, Turn
from app.controllers.chat_engine import ChatEngine
from app.controllers.chat_request import create_request, first_kept_turn
from app.core.events import Event, PromptMeasured
from app.engine.request import OverflowPolicy
from app.workers.commands import MeasurePrompt

_DELAY_MS = 250
_DRAFT_ID = -1


@dataclass(frozen=True, slots=True)
class ContextUse:
    """Tokens of the prompt as it would be sent now; `first_kept_turn` is the first one that the
    model would see, None where it would see all."""

    num_tokens: int
    max_model_len: int
    first_kept_turn: int | None


class ContextMeter(QObject):
    """Asks the engine a moment after the last change; answers that are outdated are not told.

    Signals:
        measured(ContextUse)
    """

    measured = Signal(object)

    def __init__(self, engine: ChatEngine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._conversation: Conversation | None = None
        self._overflow = OverflowPolicy.DROP_OLDEST
        self._request_id = ""
        self._timer = QTimer(self, singleShot=True, interval=_DELAY_MS)
        self._timer.timeout.connect(self._on_timer_timeout)
        engine.event_received.connect(self._on_engine_event_received)

    def update(
        self,
        conversation: Conversation,
        draft: str,
        overflow: OverflowPolicy,
        attachments: Sequence[Attachment] = (),
    ) -> None:
        """The conversation with what is being written; no answer where nothing was said yet."""
        if draft.strip() or attachments:
            now = datetime.now(UTC)
            turn = Turn(_DRAFT_ID, "user", draft, now, attachments=tuple(attachments))
            conversation = replace(conversation, turns=(*conversation.turns, turn))
        self._conversation, self._overflow = conversation, overflow
        self._request_id = ""
        self._timer.start()

    @Slot()
    def _on_timer_timeout(self) -> None:
        if self._conversation is None or self._engine.is_remote:
            return
        request = create_request(self._conversation, self._overflow)
        if request.messages and self._engine.local.is_running:
            self._request_id = request.request_id
            self._engine.send(MeasurePrompt(request))

    @Slot(object)
    def _on_engine_event_received(self, event: Event) -> None:
        if not isinstance(event, PromptMeasured) or event.request_id != self._request_id:
            return
        assert self._conversation is not None
        kept = first_kept_turn(self._conversation, event.num_dropped_messages)
        self.measured.emit(ContextUse(event.num_tokens, event.max_model_len, kept))
