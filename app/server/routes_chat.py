"""POST /v1/chat/completions."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from app.core.events import LoadedModel
from app.server.chat_request import to_chat_requests
from app.server.chat_schema import ChatCompletionRequest
from app.server.choice import ChatChoice
from app.server.declared_replies import describe_generation
from app.server.kept_deltas import KeptDeltas
from app.server.reply_form import CompletionForm
from app.server.reply_schema import ChatCompletion
from app.server.sampling_fields import read_defaults
from app.server.service import Plan, Service


def create_router(service: Service) -> APIRouter:
    """The route."""
    router = APIRouter()

    @router.post("/v1/chat/completions", responses=describe_generation(ChatCompletion))
    async def create_chat_completion(body: ChatCompletionRequest, http: HttpRequest) -> Response:
        """A reply to a conversation, in one piece or, with `stream`, as server-sent events."""

        def plan(model: LoadedModel, client: str) -> Plan:
            return _plan(service, body, model, client)

        return await service.answer(http, plan, streams=bool(body.stream))

    return router


def _plan(service: Service, body: ChatCompletionRequest, model: LoadedModel, client: str) -> Plan:
    requests = to_chat_requests(body, read_defaults(model.model_dir), client)
    is_single_call = body.parallel_tool_calls is False
    choices = [
        ChatChoice(index, KeptDeltas(service.create_parser(request), is_single_call=is_single_call))
        for index, request in enumerate(requests)
    ]
    form = CompletionForm(
        model.name,
        "chat.completion",
        "chat.completion.chunk",
        "chatcmpl",
        prompt_param="messages",
        choices_per_prompt=len(choices),
        usage_in_stream=body.includes_usage,
    )
    return requests, choices, form
