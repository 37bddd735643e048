"""A conversation in the engine's words, and the engine's numbers in the conversation's."""

from __future__ import annotations

from dataclasses import asdict

from app.chat.transcript import Conversation, TurnStats
from app.core.events import RequestFinished
from app.core.sampling_settings import SamplingSettings
from app.engine.request import Message, Request, SamplingParams


def create_request(conversation: Conversation) -> Request:
    """The conversation as the engine wants it: templates expect turns to alternate, so neighbours
    of one role (a reply in between failed) become one message, and empty turns are left out."""
    messages: list[Message] = []
    for turn in conversation.turns:
        if messages and turn.content and messages[-1].role == turn.role:
            joined = f"{messages.pop().content}\n\n{turn.content}"
            messages.append(Message(turn.role, joined))
        elif turn.content:
            messages.append(Message(turn.role, turn.content))
    if conversation.system_prompt:
        messages.insert(0, Message("system", conversation.system_prompt))
    return Request(messages=tuple(messages), sampling=to_sampling_params(conversation.sampling))


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
