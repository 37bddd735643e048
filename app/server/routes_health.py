"""GET /health and GET /metrics, for monitors; GET / and GET /v1, for browsers."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from app.core.events import EngineState
from app.server.json_bytes import to_json_bytes
from app.server.metrics import CONTENT_TYPE, render_metrics
from app.server.reply_schema import Health
from app.server.service import Service


def create_router(service: Service) -> APIRouter:
    """All of them."""
    router = APIRouter()

    @router.get("/", include_in_schema=False)
    @router.get("/v1", include_in_schema=False)
    async def say_what_this_is() -> Response:
        """For people, and for programs that ask whether anybody is there."""
        return Response(
            "DeepInfer is running. Programs speak OpenAI's API to it, at /v1.\n",
            media_type="text/plain",
        )

    @router.get("/health", response_model=Health, responses={503: {"model": Health}})
    async def get_health() -> Response:
        """200 when there is a model to ask, else 503; needs no key.

        A model that was idle may have been unloaded: then the next request loads it again.
        """
        state, model = service.host.state, service.host.model
        is_ready = model is not None and state is not EngineState.FAILED
        status = "ready" if is_ready else state.value
        body = {"status": status, "model": model.name if model else None}
        return Response(
            to_json_bytes(body), 200 if is_ready else 503, media_type="application/json"
        )

    @router.get("/metrics", responses={200: {"content": {"text/plain": {}}}})
    async def get_metrics() -> Response:
        """Prometheus' text format."""
        text = render_metrics(service.register, service.host.metrics())
        return Response(text, headers={"content-type": CONTENT_TYPE})

    return router
