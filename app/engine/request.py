"""What a caller asks of the engine."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """OpenAI's and Hugging Face's sampling words.

    `top_k` 0 and `top_p` 1 are off; `max_tokens` None: to the context's end.
    """

    temperature: float = 0.7
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False


def create_request_id() -> str:
    """A fresh id, unique across processes."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Request:
    """A chat (`messages`, for the model's template) or a raw `prompt`; exactly one of both."""

    messages: tuple[Message, ...] = ()
    prompt: str | None = None
    sampling: SamplingParams = field(default_factory=SamplingParams)
    request_id: str = field(default_factory=create_request_id)
