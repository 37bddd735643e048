"""What routes may answer, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from app.server.reply_schema import ApiErrorReply, ReplyModel

Responses = dict[int | str, dict[str, Any]]

_ANYWHERE = (401, 403, 408, 413)
_BODIES = (400, *_ANYWHERE)


def describe_errors(*statuses: int) -> Responses:
    """Errors of any route that reads a body, and these."""
    known = sorted({*_BODIES, 429, 500, 503, *statuses})
    return {status: {"model": ApiErrorReply} for status in known}


def describe_generation(reply: type[ReplyModel]) -> Responses:
    """A reply in one piece or as a stream, and the errors of a route that generates."""
    success = {"model": reply, "content": {"text/event-stream": {}}}
    return {200: success, **describe_errors()}
