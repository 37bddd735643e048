"""Rows of the database as conversations and turns, readable by older and newer versions of both."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any, TypeVar

from app.chat.attachments import Attachment
from app.chat.transcript import Conversation, ConversationSummary, Turn, TurnStats
from app.core.sampling_settings import SamplingSettings

_logger = logging.getLogger(__name__)

T = TypeVar("T", SamplingSettings, TurnStats)

CONVERSATION_COLUMNS = "conversation_id, title, created, updated, system_prompt, sampling"


def to_json(value: SamplingSettings | TurnStats) -> str:
    """A JSON object of the dataclass."""
    return json.dumps(asdict(value), ensure_ascii=False)


def from_json(kind: type[T], text: str | None) -> T | None:
    """Keys that this version does not know are ignored, missing ones take their default.

    None when there is nothing, or nothing that can be read: a bad field must not hide a
    conversation.
    """
    try:
        values = json.loads(text or "null")
        return kind(**known_values(kind, values)) if isinstance(values, dict) else None
    except (ValueError, TypeError):
        _logger.warning("Unreadable %s in the conversations: %.200s", kind.__name__, text)
        return None


def attachments_to_json(attachments: Sequence[Attachment]) -> str | None:
    """A JSON list; None for none."""
    values = [asdict(attachment) for attachment in attachments]
    return json.dumps(values, ensure_ascii=False) if values else None


def attachments_from_json(text: str | None) -> tuple[Attachment, ...]:
    """Those that can be read: a bad field must not hide a conversation."""
    try:
        values = json.loads(text or "[]")
        return tuple(Attachment(str(value["name"]), str(value["text"])) for value in values)
    except (ValueError, TypeError, KeyError):
        _logger.warning("Unreadable attachments in the conversations: %.200s", text)
        return ()


def known_values(kind: type[T], values: dict[str, Any]) -> dict[str, Any]:
    """What this version knows of a stored object."""
    names = {declared.name for declared in fields(kind)}
    known = {name: value for name, value in values.items() if name in names}
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in known.items()
    }


def conversation_from_row(row: sqlite3.Row, turns: tuple[Turn, ...]) -> Conversation:
    """A row of CONVERSATION_COLUMNS and its turns."""
    return Conversation(
        conversation_id=row["conversation_id"],
        title=row["title"],
        created=_to_datetime(row["created"]),
        updated=_to_datetime(row["updated"]),
        system_prompt=row["system_prompt"],
        sampling=from_json(SamplingSettings, row["sampling"]) or SamplingSettings(),
        turns=turns,
    )


def summary_from_row(row: sqlite3.Row) -> ConversationSummary:
    """A row with conversation_id, title, updated, is_pinned, folder."""
    return ConversationSummary(
        row["conversation_id"],
        row["title"],
        _to_datetime(row["updated"]),
        is_pinned=bool(row["is_pinned"]),
        folder=row["folder"],
    )


def turn_from_row(row: sqlite3.Row) -> Turn:
    """A row as `app.chat.turn_tree` selects it."""
    return Turn(
        turn_id=row["turn_id"],
        role=row["role"],
        content=row["content"],
        created=_to_datetime(row["created"]),
        model_name=row["model_name"],
        stats=from_json(TurnStats, row["stats"]),
        is_interrupted=row["state"] != "complete",
        attachments=attachments_from_json(row["attachments"]),
        parent_id=row["parent_id"],
        version=row["version"],
        num_versions=row["num_versions"],
    )


def _to_datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
