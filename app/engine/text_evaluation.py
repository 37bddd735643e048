"""Perplexity and KL of loaded checkpoints on a text."""

from __future__ import annotations

from pathlib import Path

from app.core.errors import InvalidSourceError, UsageError
from app.core.jobs import CancelToken
from app.core.system_reason import system_reason
from app.engine.evaluation import Evaluation, Progress, evaluate
from app.engine.loader import LoadedEngine


def evaluate_text(
    loaded: LoadedEngine,
    text: str,
    window: int,
    yardstick: LoadedEngine | None = None,
    max_tokens: int | None = None,
    on_progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> Evaluation:
    """`evaluate` on the first `max_tokens` of a text.

    Raises UsageError for a text of fewer than two tokens, or one that both models split otherwise.
    """
    token_ids = _encode(loaded, text)
    if yardstick and token_ids != _encode(yardstick, text):
        raise UsageError("The two models split this text into different tokens.")
    other = yardstick.executor if yardstick else None
    return evaluate(loaded.executor, token_ids[:max_tokens], window, other, on_progress, cancel)


def read_text(path: Path) -> str:
    """A UTF-8 file; InvalidSourceError names it otherwise."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidSourceError(
            "{name} is not UTF-8 text.", name=path.name, detail=str(error)
        ) from error
    except OSError as error:
        raise InvalidSourceError(
            "{name} cannot be read: {reason}.", name=path.name, reason=system_reason(error)
        ) from error


def _encode(loaded: LoadedEngine, text: str) -> list[int]:
    return loaded.tokenizer.encode(text, add_special_tokens=False, parse_special=False)
