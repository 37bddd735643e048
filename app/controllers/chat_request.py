"""A conversation in the engine's words, and the engine's numbers in the conversation's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from app.chat.attachments import with_attachments
from app.chat.thoughts import split_thoughts
from app.chat.transcript import Conversation, Turn, TurnStats
from app.core.events import RequestFinished
from app.core.memory_shortage import MemoryRemedy, RemedyKind
from app.core.sampling_settings import SamplingSettings
from app.engine.request import Message, OverflowPolicy, Request, SamplingParams
from app.workers.commands import LoadModel


def create_request(
    conversation: Conversation,
    overflow: OverflowPolicy = OverflowPolicy.DROP_OLDEST,
    *,
    continues_reply: bool = False,
) -> Request:
    """The conversation as the engine wants it: templates expect turns to alternate, so neighbours
    of one role (a reply in between failed) become one message, and empty turns are left out. What
    was thought before an answer goes beside it; the template decides what the model sees again."""
    turns = conversation.turns[:-1] if continues_reply else conversation.turns
    messages = [message for message, _ in _messages_with_turns(turns)]
    if continues_reply:  # its thoughts, too, go on
        messages.append(Message("assistant", conversation.turns[-1].content))
    if conversation.system_prompt:
        messages.insert(0, Message("system", conversation.system_prompt))
    return Request(
        messages=tuple(messages),
        sampling=to_sampling_params(conversation.sampling),
        cache_key=conversation.conversation_id,
        overflow=overflow,
        continues_reply=continues_reply,
    )


def first_kept_turn(conversation: Conversation, num_dropped_messages: int) -> int | None:
    """The first turn that the model still sees; None where it sees all."""
    if num_dropped_messages == 0:
        return None
    return _messages_with_turns(conversation.turns)[num_dropped_messages][1]


def _messages_with_turns(turns: Sequence[Turn]) -> list[tuple[Message, int]]:
    """Each message with the id of its first turn."""
    messages: list[tuple[Message, int]] = []
    for turn in turns:
        message = _to_message(turn)
        if messages and message.content and messages[-1][0].role == message.role:
            earlier, turn_id = messages.pop()
            joined = Message(message.role, f"{earlier.content}\n\n{message.content}")
            messages.append((joined, turn_id))
        elif message.content:
            messages.append((message, turn.turn_id))
    return messages


def _to_message(turn: Turn) -> Message:
    if turn.role == "user":
        return Message("user", with_attachments(turn.content, turn.attachments))
    parts = split_thoughts(turn.content)
    return Message("assistant", parts.answer, reasoning_content=parts.thought or None)


def to_sampling_params(settings: SamplingSettings) -> SamplingParams:
    """As the engine is asked: what a conversation keeps, and nothing for measurements."""
    return SamplingParams(**asdict(settings))


def with_remedy(command: LoadModel, remedy: MemoryRemedy) -> LoadModel:
    """The same model with a shorter context, or with a cache of 8 bits and what fits then."""
    if remedy.kind is RemedyKind.INT8_KV:
        return replace(command, max_model_len=remedy.max_model_len, kv_dtype="int8")
    return replace(command, max_model_len=remedy.max_model_len)


def to_stats(event: RequestFinished) -> TurnStats:
    """What is kept of a reply's usage."""
    usage = event.usage
    return TurnStats(
        finish_reason=event.finish_reason.value,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        ttft_s=usage.ttft_s,
        decode_tok_s=usage.decode_tok_s,
    )
