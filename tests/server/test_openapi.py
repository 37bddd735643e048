"""Requests made of the served OpenAPI document: none ends in a fault, all answers are declared."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.server.runner import ServerRunner

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
_SETTINGS: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


OPERATIONS = [
    ("get", "/v1/models"),
    ("get", "/v1/models/{model_id}"),
    ("post", "/v1/chat/completions"),
    ("post", "/v1/responses"),
    ("post", "/v1/completions"),
    ("post", "/v1/embeddings"),
    ("get", "/health"),
    ("get", "/metrics"),
]


@pytest.fixture(scope="session")
def document(server: ServerRunner) -> Any:
    """As it is served, of a server whose model is loaded."""
    return schemathesis.openapi.from_url(server.base_url.removesuffix("/v1") + "/openapi.json")


def test_the_document_has_these_operations(document: Any) -> None:
    found = [operation.ok() for operation in document.get_all_operations()]
    assert sorted((o.method, o.path) for o in found) == sorted(OPERATIONS)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_a_dozen_of_each(document: Any, method: str, path: str) -> None:
    assert num_answered(document[path][method], 12) > 0


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_hundreds_of_each(document: Any, method: str, path: str) -> None:
    assert num_answered(document[path][method], 300) > 0


def num_answered(operation: Any, num_examples: int) -> int:
    """Half of the requests are as the document wants them, half are not; each must pass."""
    answered = itertools.count()
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        if mode is GenerationMode.NEGATIVE and operation.method == "get":
            continue

        @settings(max_examples=num_examples, **_SETTINGS)
        @given(operation.as_strategy(generation_mode=mode))
        def call(case: Any) -> None:
            _call(case)
            next(answered)

        call()
    return next(answered)


def _call(case: Any) -> None:
    _shorten(case.body, "max_output_tokens" if case.path == "/v1/responses" else "max_tokens")
    case.call_and_validate(checks=CHECKS)


def _shorten(body: Any, limit: str) -> None:
    """A body that is right would be answered to the end of the context."""
    if not isinstance(body, dict):
        return
    given = [name for name in _LIMITS if body.get(name) is not None]
    body.update({name: min(body[name], 2) for name in given if isinstance(body[name], int)})
    if limit not in given:
        body[limit] = 2
