"""From what pydantic says of a body to one sentence and the path of the field at fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.server.error_map import ApiError

_TYPES = ("str", "int", "float", "bool", "dict", "list")


def to_refusal(errors: Sequence[Mapping[str, Any]]) -> ApiError:
    """The error that is deepest in the body: of a union, the member that was meant."""
    error = max(errors, key=lambda error: len(_fields(error)))
    kind, message = error["type"], str(error["msg"])
    param = _to_path(_fields(error))
    if kind == "json_invalid":
        reason = error.get("ctx", {}).get("error", message)
        return ApiError(400, f"The body is not JSON: {reason}.", code="invalid_json")
    if not param:
        return ApiError(
            400,
            "The body must be a JSON object, sent with `Content-Type: application/json`.",
            code="invalid_json",
        )
    if kind == "missing":
        return ApiError(400, f"{param} is missing.", param=param, code="missing_required_parameter")
    return ApiError(400, f"{param}: {message}.", param=param, code="invalid_value")


def _fields(error: Mapping[str, Any]) -> list[str | int]:
    """Names and indices, without `body` and without what pydantic puts between them for unions: a
    member's type, or the value of `type` that chose it, which here is called like its field."""
    fields: list[str | int] = []
    for part in error["loc"][1:]:
        if isinstance(part, int) or (_is_name(part) and fields[-1:] != [part]):
            fields.append(part)
    return fields


def _is_name(part: str) -> bool:
    return part.isidentifier() and part.islower() and part not in _TYPES


def _to_path(fields: Sequence[str | int]) -> str:
    path = ""
    for field in fields:
        path += f"[{field}]" if isinstance(field, int) else f".{field}" if path else field
    return path
