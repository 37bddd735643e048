"""From the body of /v1/completions to what the engine is asked for."""

from __future__ import annotations

from app.engine.request import Request, SamplingParams
from app.server.chat_request import PORT_PRIORITY
from app.server.completion_schema import CompletionRequest
from app.server.error_map import ApiError
from app.server.sampling_fields import seed_of_choice, to_sampling

_DEFAULT_MAX_TOKENS = 16  # OpenAI's at this endpoint, and vLLM's
EnginePrompt = str | tuple[int, ...]


def to_completion_requests(
    body: CompletionRequest, defaults: SamplingParams, client: str
) -> list[Request]:
    """`n` requests for each prompt, in OpenAI's order: all choices of the first prompt first.

    Raises ApiError for what is not done here.
    """
    if body.suffix:
        raise ApiError(400, "suffix is not supported: the model only writes on.", param="suffix")
    if body.best_of is not None and body.best_of > body.num_choices:
        raise ApiError(400, "best_of larger than n is not supported.", param="best_of")
    sampling = to_sampling(body, defaults, body.max_tokens or _DEFAULT_MAX_TOKENS)
    return [
        Request(
            prompt=prompt,
            sampling=seed_of_choice(sampling, index),
            num_logprobs=body.logprobs,
            priority=PORT_PRIORITY,
            client=client,
        )
        for prompt in to_prompts(body.prompt)
        for index in range(body.num_choices)
    ]


def to_prompts(prompt: str | list[int] | list[str] | list[list[int]]) -> list[EnginePrompt]:
    """One prompt or many; a list of numbers is one."""
    if isinstance(prompt, str):
        return [prompt]
    token_ids = tuple(item for item in prompt if isinstance(item, int))
    if token_ids:
        return [token_ids]
    texts_or_lists = (item for item in prompt if not isinstance(item, int))
    return [item if isinstance(item, str) else tuple(item) for item in texts_or_lists]
