"""From this program's errors to OpenAI's: status, type, param and code, decided here alone.

The shape and the codes are those of https://platform.openai.com/docs/guides/error-codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from app.core import errors
from app.core.errors import AppError
from app.core.events import ErrorInfo
from app.server.json_bytes import to_json_bytes

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "service_unavailable_error",
}
CONTEXT_LENGTH_CODE = "context_length_exceeded"
# The first class that an error is an instance of decides: status and code.
_STATUSES: tuple[tuple[type[AppError], int, str | None], ...] = (
    (errors.ContextLengthError, 400, CONTEXT_LENGTH_CODE),
    (errors.UsageError, 400, None),
    (errors.UnsupportedError, 400, None),
    (errors.JobCancelledError, 403, "request_cancelled"),
    (errors.EngineError, 503, "engine_not_ready"),
    (errors.ResourceError, 503, "out_of_resources"),
)


class ApiError(AppError):
    """An answer that is an error; `param` is a field's path (`messages[0].name`)."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """OpenAI's object."""
        kind = _TYPES.get(self.status, "invalid_request_error")
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": error}


def to_api_error(error: AppError | ErrorInfo) -> ApiError:
    """What a client is told; an error that is nobody's fault there keeps its sentence too."""
    if isinstance(error, ErrorInfo):
        error = error.to_exception()
    if isinstance(error, ApiError):
        return error
    for kind, status, code in _STATUSES:
        if isinstance(error, kind):
            return ApiError(status, error.message, code=code)
    return ApiError(500, error.message, code="internal_error")


def create_error_response(error: ApiError) -> Response:
    """The whole reply."""
    content = to_json_bytes(error.body)
    return Response(content, error.status, error.headers, media_type="application/json")
