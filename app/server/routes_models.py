"""GET /v1/models and /v1/models/{id}.

One model is loaded, and it answers whatever `model` a request names: clients have names such as
`gpt-4o-mini` built in, and a conversation shall go on when another model is loaded. The name of
who answered stands in every reply. Only here does a name have to be right.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.core.events import LoadedModel
from app.server.declared_replies import describe_errors
from app.server.error_map import ApiError
from app.server.reply_schema import ModelCard, ModelList
from app.server.service import Service


def create_router(service: Service) -> APIRouter:
    """Both routes."""
    router = APIRouter()

    @router.get("/v1/models", response_model=ModelList, responses=describe_errors())
    async def list_models() -> dict[str, Any]:
        """The loaded model; an empty list when there is none."""
        model = service.host.model
        return {"object": "list", "data": [_to_card(model)] if model else []}

    @router.get(
        "/v1/models/{model_id:path}", response_model=ModelCard, responses=describe_errors(404)
    )
    async def retrieve_model(model_id: str) -> dict[str, Any]:
        """The loaded model by its name."""
        model = service.host.model
        if model is None or model_id != model.name:
            loaded = f"loaded is {model.name}" if model else "none is loaded"
            raise ApiError(
                404,
                f"There is no model {model_id} here; {loaded}.",
                param="model",
                code="model_not_found",
            )
        return _to_card(model)

    return router


def _to_card(model: LoadedModel) -> dict[str, Any]:
    return {
        "id": model.name,
        "object": "model",
        "created": int(model.model_dir.stat().st_mtime) if model.model_dir.exists() else 0,
        "owned_by": "deepinfer",
        "max_model_len": model.max_model_len,
    }
