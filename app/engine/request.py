"""What a caller asks of the engine."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Literal

from app.core.sampling_settings import SamplingSettings

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class SamplingParams(SamplingSettings):
    """`ignore_eos` draws on behind the model's own end of text, for measurements."""

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
