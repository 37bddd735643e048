"""POST /v1/embeddings: the answer of a model that writes text."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from app.server.completion_schema import EmbeddingRequest
from app.server.declared_replies import describe_errors
from app.server.error_map import ApiError
from app.server.service import Service


def create_router(service: Service) -> APIRouter:
    """The route. Every architecture that is converted here is a causal one: the hidden states that
    it has are made for predicting the next token, and nobody trained them to be compared."""
    router = APIRouter()

    @router.post("/v1/embeddings", responses=describe_errors())
    async def create_embeddings(_body: EmbeddingRequest) -> Response:
        """Refused by every model that can be loaded so far."""
        model = service.require_model()
        raise ApiError(
            400,
            f"{model.name} writes text and makes no embeddings.",
            param="model",
            code="model_not_supported",
        )

    return router
