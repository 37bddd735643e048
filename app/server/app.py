"""The ASGI application: routes, what stands before them, and errors in OpenAI's shape."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app import __version__
from app.core.errors import AppError
from app.server import (
    routes_chat,
    routes_completions,
    routes_embeddings,
    routes_health,
    routes_models,
    routes_responses,
)
from app.server.body_reader import BodyReader
from app.server.error_map import ApiError, create_error_response, to_api_error
from app.server.security import Gate
from app.server.service import Service
from app.server.tolerance import Tolerance
from app.server.validation_error import to_refusal

_ROUTES = (
    routes_models,
    routes_chat,
    routes_responses,
    routes_completions,
    routes_embeddings,
    routes_health,
)


def create_app(service: Service) -> FastAPI:
    """Everything that is served. There are no pages: those of FastAPI load scripts from afar."""
    app = FastAPI(
        title="DeepInfer",
        version=__version__,
        description="OpenAI's API over the model that is loaded at this machine.",
        docs_url=None,
        redoc_url=None,
    )
    for routes in _ROUTES:
        app.include_router(routes.create_router(service))
    app.add_middleware(BodyReader, options=service.options)
    app.add_middleware(Tolerance)
    app.add_middleware(Gate, options=service.options)  # the last one added is the outermost
    _add_error_handlers(app)
    _describe_truly(app)
    return app


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(AppError)
    async def on_app_error(_request: Request, error: Exception) -> Response:
        assert isinstance(error, AppError)
        return create_error_response(to_api_error(error))

    @app.exception_handler(RequestValidationError)
    async def on_wrong_body(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return create_error_response(to_refusal(error.errors()))

    @app.exception_handler(HTTPException)
    async def on_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        message = {
            404: f"There is nothing at {request.url.path}; OpenAI's API begins at /v1.",
            405: f"{request.url.path} does not take {request.method}.",
        }.get(error.status_code, f"{error.detail}.")
        return create_error_response(
            ApiError(error.status_code, message, headers=dict(error.headers or {}))
        )

    @app.exception_handler(Exception)
    async def on_fault(_request: Request, error: Exception) -> Response:
        """uvicorn logs it with its trace."""
        return create_error_response(
            ApiError(500, f"Internal error: {type(error).__name__}.", code="internal_error")
        )


def _describe_truly(app: FastAPI) -> None:
    """FastAPI declares its own 422, which is a 400 in OpenAI's shape here."""
    document: dict[str, Any] = {}

    def describe() -> dict[str, Any]:
        if not document:
            document.update(
                get_openapi(
                    title=app.title,
                    version=app.version,
                    description=app.description,
                    routes=app.routes,
                )
            )
            for path in document["paths"].values():
                for operation in path.values():
                    operation["responses"].pop("422", None)
        return document

    app.openapi = describe  # type: ignore[method-assign]
