"""How replies are drawn: what a conversation keeps, and what the engine is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """OpenAI's and Hugging Face's sampling words; `top_k` 0, `top_p` 1 and `min_p` 0 are off.

    `max_tokens` None means to the end of the context, `seed` None a fresh one each time. As JSON
    this is what a stored conversation has: a field is added with a default, and never renamed.
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
