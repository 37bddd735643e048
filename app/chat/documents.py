"""Conversations outside the program: Markdown for people, JSON with every version for programs.

The JSON document: {format, version, conversations: [{title, created, updated, system_prompt,
sampling, is_pinned, folder, shown, turns: [{id, parent, role, content, created, model, stats,
attachments: [{name, text}]}]}]}; times are ISO 8601, `parent` is the id of the turn before, `shown`
that of the last turn on screen. OpenAI's {messages: [{role, content}]} is read, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from app.chat.attachments import Attachment, with_attachments
from app.chat.rows import known_values
from app.chat.thoughts import split_thoughts
from app.chat.transcript import Conversation, Turn, TurnRole, TurnStats, title_from_text
from app.core.errors import ChatStoreError
from app.core.sampling_settings import SamplingSettings
from app.core.sentence import Sentence

FORMAT, VERSION = "deepinfer-chats", 1
# What a document of another shape leads to; OverflowError: a moment before the first year.
_WRONG = (ValueError, TypeError, KeyError, AttributeError, OverflowError)
_ROLES: tuple[TurnRole, ...] = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class ConversationTree:
    """A conversation with all versions of its turns; `conversation.turns` is what is shown.

    Of the turns only `turn_id` and `parent_id` tell how they hang together; parents come first.
    """

    conversation: Conversation
    turns: tuple[Turn, ...]
    is_pinned: bool = False
    folder: str = ""


@dataclass(slots=True)
class _TurnReader:
    """Turns of a document, whose ids are its own."""

    turns: dict[int, Turn] = field(default_factory=dict)

    def read(self, values: dict[str, Any]) -> None:
        turn_id, parent = values["id"], values.get("parent")
        if parent is not None and parent not in self.turns:
            raise ValueError(
                Sentence(
                    "turn {turn_id!r} follows one that does not come before it", turn_id=turn_id
                )
            )
        if turn_id in self.turns:
            raise ValueError(Sentence("there are two turns {turn_id!r}", turn_id=turn_id))
        stats = values.get("stats")
        self.turns[turn_id] = Turn(
            turn_id,
            _role(values["role"]),
            _text(values["content"]),
            _moment(values.get("created")),
            model_name=_text(values.get("model", "")),
            stats=TurnStats(**known_values(TurnStats, stats)) if stats else None,
            attachments=tuple(
                Attachment(_text(file["name"]), _text(file["text"]))
                for file in values.get("attachments") or ()
            ),
            parent_id=parent,
        )

    def path_to(self, turn_id: int | None) -> tuple[Turn, ...]:
        path: list[Turn] = []
        while turn_id is not None:
            path.append(self.turns[turn_id])
            turn_id = path[-1].parent_id
        return tuple(reversed(path))


def to_markdown(conversation: Conversation) -> str:
    """What is shown, with a heading per turn; thoughts are quoted."""
    return "\n\n".join(_markdown_parts(conversation)) + "\n"


def to_json(trees: Sequence[ConversationTree]) -> str:
    """The JSON document."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "conversations": [_tree_to_json(tree) for tree in trees],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> list[ConversationTree]:
    """Raises ChatStoreError with the reason for anything that is no such document."""
    try:
        document = json.loads(text)
        if isinstance(document, list) and document:
            document = {"messages": document}
        if isinstance(document, dict) and "messages" in document:
            return [_tree_of_messages(document)]
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(
                Sentence("it is neither an export of DeepInfer nor a list of messages")
            )
        if document.get("version") != VERSION:
            raise ValueError(Sentence("a newer version of DeepInfer wrote it"))
        return [_tree_from_json(values) for values in document["conversations"]]
    except (*_WRONG, RecursionError) as error:
        reason = (
            Sentence("{error} is missing", error=error)
            if isinstance(error, KeyError)
            else str(error)
        )
        raise ChatStoreError(
            "This file holds no conversations: {reason}.", reason=reason
        ) from error


def _markdown_parts(conversation: Conversation) -> Iterator[str]:
    yield f"# {conversation.title}"
    if conversation.system_prompt:
        yield f"## System prompt\n\n{conversation.system_prompt}"
    for turn in conversation.turns:
        if turn.role == "user":
            yield f"## You\n\n{with_attachments(turn.content, turn.attachments)}"
            continue
        parts = split_thoughts(turn.content)
        yield f"## {turn.model_name or 'Reply'}"
        if parts.thought:
            yield "\n".join(f"> {line}".rstrip() for line in parts.thought.splitlines())
        yield parts.answer


def _tree_to_json(tree: ConversationTree) -> dict[str, Any]:
    conversation = tree.conversation
    return {
        "title": conversation.title,
        "created": conversation.created.isoformat(),
        "updated": conversation.updated.isoformat(),
        "system_prompt": conversation.system_prompt,
        "sampling": asdict(conversation.sampling),
        "is_pinned": tree.is_pinned,
        "folder": tree.folder,
        "shown": conversation.turns[-1].turn_id if conversation.turns else None,
        "turns": [_turn_to_json(turn) for turn in tree.turns],
    }


def _turn_to_json(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.turn_id,
        "parent": turn.parent_id,
        "role": turn.role,
        "content": turn.content,
        "created": turn.created.isoformat(),
        "model": turn.model_name,
        "stats": asdict(turn.stats) if turn.stats else None,
        "attachments": [asdict(attachment) for attachment in turn.attachments],
    }


def _tree_from_json(values: dict[str, Any]) -> ConversationTree:
    reader = _TurnReader()
    for turn in values["turns"]:
        reader.read(turn)
    conversation = Conversation(
        "",
        _text(values["title"]),
        _moment(values.get("created")),
        _moment(values.get("updated")),
        _text(values.get("system_prompt", "")),
        SamplingSettings(**known_values(SamplingSettings, values.get("sampling") or {})),
        reader.path_to(values.get("shown")),
    )
    is_pinned, folder = values.get("is_pinned") is True, _text(values.get("folder", ""))
    return ConversationTree(conversation, tuple(reader.turns.values()), is_pinned, folder)


def _tree_of_messages(document: dict[str, Any]) -> ConversationTree:
    """System messages become the system prompt, all others turns, one after the other."""
    messages = [(message["role"], _content(message["content"])) for message in document["messages"]]
    system = "\n\n".join(text for role, text in messages if role in ("system", "developer"))
    said = [(role, text) for role, text in messages if role not in ("system", "developer")]
    reader = _TurnReader()
    for number, (role, text) in enumerate(said):
        parent = number - 1 if number else None
        reader.read({"id": number, "parent": parent, "role": role, "content": text})
    turns = tuple(reader.turns.values())
    title = title_from_text(_text(document.get("title") or "") or _first_text(turns))
    now = datetime.now(UTC)
    return ConversationTree(Conversation("", title, now, now, system, turns=turns), turns)


def _role(value: object) -> TurnRole:
    for role in _ROLES:
        if value == role:
            return role
    raise ValueError(Sentence("nobody can speak as {value!r}", value=value))


def _first_text(turns: Sequence[Turn]) -> str:
    return turns[0].content if turns else ""


def _content(value: object) -> str:
    """OpenAI's content: text, or parts of which those that are text are read."""
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        return _text(value)
    return "\n".join(_text(part["text"]) for part in value if part.get("type") == "text")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _moment(value: object) -> datetime:
    if value is None:
        return datetime.now(UTC)
    return datetime.fromisoformat(_text(value)).astimezone(UTC)
