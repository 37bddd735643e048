"""POST /v1/responses."""

from __future__ import annotations

import time
import uuid
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from app.core.events import LoadedModel
from app.engine.request import SamplingParams
from app.server.chat_request import to_chat_requests
from app.server.declared_replies import describe_generation
from app.server.kept_deltas import KeptDeltas
from app.server.responses_choice import ResponsesChoice, ResponsesForm
from app.server.responses_reply import ResponsesReply
from app.server.responses_request import to_chat_body
from app.server.responses_schema import ResponsesRequest
from app.server.sampling_fields import read_defaults
from app.server.service import Plan, Service


def create_router(service: Service) -> APIRouter:
    """The route. Nothing is stored, so there is none to ask for a response afterwards."""
    router = APIRouter()

    @router.post("/v1/responses", responses=describe_generation(ResponsesReply))
    async def create_response(body: ResponsesRequest, http: HttpRequest) -> Response:
        """A reply to a conversation, in one piece or, with `stream`, as server-sent events."""

        def plan(model: LoadedModel, client: str) -> Plan:
            return _plan(service, body, model, client)

        return await service.answer(http, plan, streams=bool(body.stream))

    return router


def _plan(service: Service, body: ResponsesRequest, model: LoadedModel, client: str) -> Plan:
    chat_body = to_chat_body(body)
    requests = to_chat_requests(chat_body, read_defaults(model.model_dir), client)
    is_single_call = body.parallel_tool_calls is False
    deltas = KeptDeltas(service.create_parser(requests[0]), is_single_call=is_single_call)
    choice = ResponsesChoice(deltas, _create_head(body, requests[0].sampling, model.name))
    return requests, [choice], ResponsesForm(choice)


def _create_head(body: ResponsesRequest, sampling: SamplingParams, model: str) -> dict[str, Any]:
    """What is asked for, as it is understood."""
    fields = body.model_dump(by_alias=True, exclude_none=True)
    text = fields.get("text", {})
    return {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "created_at": int(time.time()),
        "model": model,
        "background": False,
        "instructions": body.instructions,
        "max_output_tokens": body.max_output_tokens,
        "metadata": body.metadata or {},
        "parallel_tool_calls": body.parallel_tool_calls is not False,
        "previous_response_id": None,
        "reasoning": {"effort": body.reasoning.effort if body.reasoning else None, "summary": None},
        "store": False,
        "temperature": sampling.temperature,
        "text": {"format": text.get("format", {"type": "text"})},
        "tool_choice": fields.get("tool_choice", "auto"),
        "tools": fields.get("tools", []),
        "top_logprobs": body.top_logprobs or 0,
        "top_p": sampling.top_p,
        "truncation": "disabled",
    }
