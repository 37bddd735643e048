"""POST /v1/completions."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from app.core.events import LoadedModel
from app.server.choice import TextChoice
from app.server.completion_request import to_completion_requests
from app.server.completion_schema import CompletionRequest
from app.server.declared_replies import describe_generation
from app.server.error_map import ApiError
from app.server.fields import MAX_CHOICES
from app.server.reply_form import CompletionForm
from app.server.reply_schema import Completion
from app.server.sampling_fields import read_defaults
from app.server.service import Plan, Service

_MAX_REPLIES = 4 * MAX_CHOICES


def create_router(service: Service) -> APIRouter:
    """The route."""
    router = APIRouter()

    @router.post("/v1/completions", responses=describe_generation(Completion))
    async def create_completion(body: CompletionRequest, http: HttpRequest) -> Response:
        """The text that the model writes behind a prompt, without a chat template."""

        def plan(model: LoadedModel, client: str) -> Plan:
            return _plan(body, model, client)

        return await service.answer(http, plan, streams=bool(body.stream))

    return router


def _plan(body: CompletionRequest, model: LoadedModel, client: str) -> Plan:
    requests = to_completion_requests(body, read_defaults(model.model_dir), client)
    if len(requests) > _MAX_REPLIES:
        raise ApiError(
            400,
            f"n times the number of prompts is {len(requests)}; at most {_MAX_REPLIES} at once.",
            param="n",
        )
    choices = []
    for index, request in enumerate(requests):
        if body.echo and not isinstance(request.prompt, str):
            raise ApiError(400, "echo needs a prompt of text, not of token ids.", param="echo")
        choices.append(TextChoice(index, str(request.prompt) if body.echo else ""))
    form = CompletionForm(
        model.name,
        "text_completion",
        "text_completion",
        "cmpl",
        prompt_param="prompt",
        choices_per_prompt=body.num_choices,
        usage_in_stream=body.includes_usage,
    )
    return requests, choices, form
