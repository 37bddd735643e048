"""What a conversation is: turns, their statistics, and the settings they were made with."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from app.chat.attachments import Attachment
from app.core.sampling_settings import SamplingSettings

TurnRole = Literal["user", "assistant"]

TITLE_MAX_CHARS = 60


@dataclass(frozen=True, slots=True)
class TurnStats:
    """Counts and times of one reply; `finish_reason` is OpenAI's word or `cancelled`."""

    finish_reason: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    ttft_s: float
    decode_tok_s: float


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `created` is UTC; `model_name` and `stats` belong to replies.

    `is_interrupted`: the worker or the program died before the reply ended; `content` is what was
    saved. `parent_id` is the turn that it follows; it is number `version`, from 1, of the
    `num_versions` turns that follow it.
    """

    turn_id: int
    role: TurnRole
    content: str
    created: datetime
    model_name: str = ""
    stats: TurnStats | None = None
    is_interrupted: bool = False
    attachments: tuple[Attachment, ...] = ()
    parent_id: int | None = None
    version: int = 1
    num_versions: int = 1


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation; `turns` in the order they were said, one version of each. Times are UTC."""

    conversation_id: str
    title: str
    created: datetime
    updated: datetime
    system_prompt: str = ""
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """One row of the conversation list; `updated` is UTC, `folder` '' for none."""

    conversation_id: str
    title: str
    updated: datetime
    is_pinned: bool = False
    folder: str = ""


def title_from_text(text: str) -> str:
    """The first line of the first message, shortened at a word to TITLE_MAX_CHARS characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(line) <= TITLE_MAX_CHARS:
        return line
    head = line[:TITLE_MAX_CHARS]
    return (head.rsplit(" ", 1)[0] if " " in head else head) + "…"
