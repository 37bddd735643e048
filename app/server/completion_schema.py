"""The bodies of POST /v1/completions and /v1/embeddings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.server.fields import GenerationFields, TokenId, WireModel

_MAX_PROMPTS = 32
_MAX_LOGPROBS = 5  # OpenAI's limit at this endpoint

TokenIds = Annotated[list[TokenId], Field(min_length=1)]
Prompt = (
    str
    | TokenIds
    | Annotated[list[str], Field(min_length=1, max_length=_MAX_PROMPTS)]
    | Annotated[list[TokenIds], Field(min_length=1, max_length=_MAX_PROMPTS)]
)


class CompletionRequest(GenerationFields):
    """`prompt` goes to the model as it is, without a template: a text, token ids, or many of both.

    `logprobs`: that many of the likeliest tokens besides the chosen one. `echo` puts the prompt
    before the reply.
    """

    prompt: Prompt
    echo: bool | None = None
    logprobs: Annotated[int, Field(ge=0, le=_MAX_LOGPROBS)] | None = None
    suffix: str | None = None
    best_of: Annotated[int, Field(ge=1)] | None = None


class EmbeddingRequest(WireModel):
    """OpenAI's words; see `app.server.routes_embeddings` for the answer."""

    model: str | None = None
    input: Prompt
    encoding_format: str | None = None
    dimensions: int | None = None
