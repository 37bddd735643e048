"""A conversation in the engine's words, and the engine's numbers in the conversation's."""

from __future__ import annotations

from dataclasses import asdict

from app.chat.thoughts import split_thoughts
from app.chat.transcript import Conversation, Turn, TurnStats
from app.core.events import RequestFinished
from app.core.sampling_settings import SamplingSettings
from app.engine.request import Message, Request, SamplingParams


def create_request(conversation: Conversation) -> Request:
    """The conversation as the engine wants it: templates expect turns to alternate, so neighbours
    of one role (a reply in between failed) become one message, and empty turns are left out. What
    was thought before an answer goes beside it; the template decides what the model sees again."""
    messages: list[Message] = []
    for message in map(_to_message, conversation.turns):
        if messages and message.content and messages[-1].role == message.role:
            joined = f"{messages.pop().content}\n\n{message.content}"
            messages.append(Message(message.role, joined))
        elif message.content:
            messages.append(message)
    if conversation.system_prompt:
        messages.insert(0, Message("system", conversation.system_prompt))
    return Request(
        messages=tuple(messages),
        sampling=to_sampling_params(conversation.sampling),
        cache_key=conversation.conversation_id,
    )


def _to_message(turn: Turn) -> Message:
    if turn.role == "user":
        return Message("user", turn.content)
    parts = split_thoughts(turn.content)
    return Message("assistant", parts.answer, reasoning_content=parts.thought or None)


def to_sampling_params(settings: SamplingSettings) -> SamplingParams:
    """As the engine is asked: what a conversation keeps, and nothing for measurements."""
    return SamplingParams(**asdict(settings))


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
