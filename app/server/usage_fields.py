"""Counts of tokens as replies write them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from app.core.events import Usage


def to_usage_fields(usages: Collection[Usage], num_per_prompt: int = 1) -> dict[str, Any]:
    """Of all choices together; a prompt that has `num_per_prompt` choices is counted once."""
    prompt_tokens = sum(usage.prompt_tokens for usage in usages) // num_per_prompt
    cached_tokens = max((usage.cached_tokens for usage in usages), default=0)
    completion_tokens = sum(usage.completion_tokens for usage in usages)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": min(cached_tokens, prompt_tokens)},
    }


def to_responses_usage(usage: Usage, num_reasoning: int) -> dict[str, Any]:
    """In the words of /v1/responses."""
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": num_reasoning},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
