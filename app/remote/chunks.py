"""What comes of a streamed chat completion, chunk by chunk."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from app.core.errors import RemoteError

DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class Chunk:
    """`finish_reason` '' until the last but the usage; counts None where none are told.

    `reasoning` is what vLLM calls so and others `reasoning_content`.
    """

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int = 0


def parse_chunk(data: str) -> Chunk:
    """Reads one event's data; raises RemoteError for an error that the server tells, and for what
    is not a chunk.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _nonsense(data) from error
    if not isinstance(value, dict):
        raise _nonsense(data)
    if value.get("error"):
        raise RemoteError("The server broke off: {said}", said=error_sentence(value), detail=data)
    try:
        return _to_chunk(value)
    except (AttributeError, LookupError, TypeError) as error:
        raise _nonsense(data) from error


def error_sentence(value: Any) -> str:
    """The words of an error body, whichever of its shapes; '' when it has none."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or ""
    if not isinstance(error, str) or not error.strip():
        return ""
    return " ".join(error.split()).rstrip(".")[:300] + "."


def _to_chunk(value: dict[str, Any]) -> Chunk:
    """Raises AttributeError, LookupError or TypeError where it is built otherwise."""
    choices = value.get("choices") or [{}]
    choice = choices[0] if isinstance(choices[0], dict) else {}
    delta = choice.get("delta") or {}
    usage = value.get("usage") or {}
    return Chunk(
        text=_to_text(delta.get("content")),
        reasoning=_to_text(delta.get("reasoning") or delta.get("reasoning_content")),
        finish_reason=choice.get("finish_reason") or "",
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
    )


def _to_text(content: object) -> str:
    """A text, nothing, or a list of parts, of which those of text count."""
    if isinstance(content, list):
        return "".join(_to_text(part["text"]) for part in content if part.get("type") == "text")
    if content is not None and not isinstance(content, str):
        raise TypeError(f"content is {type(content).__name__}")
    return content or ""


def _nonsense(data: str) -> RemoteError:
    return RemoteError("The server sent what is no chat completion.", detail=data[:1000])
