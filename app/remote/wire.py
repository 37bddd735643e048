"""A request as OpenAI's chat completion has it."""

from __future__ import annotations

from typing import Any

from app.core.sampling_settings import SamplingSettings
from app.engine.request import Message, Request

# What a server of OpenAI's own would refuse by name is only sent when it says something.
_NEUTRAL: dict[str, float] = {
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}


def chat_body(request: Request, model: str) -> dict[str, Any]:
    """The JSON of `POST /chat/completions`, streamed and with its usage.

    `top_k`, `min_p` and `repetition_penalty` are the words of vLLM and llama-server. `max_tokens`
    is the older of the two words for the longest reply: all but the newest of OpenAI's own models
    know it.
    """
    sampling = request.sampling
    body: dict[str, Any] = {
        "model": model,
        "messages": [_to_message(message) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
    }
    return body | _optional(sampling)


def _optional(sampling: SamplingSettings) -> dict[str, Any]:
    values = {name: getattr(sampling, name) for name in _NEUTRAL}
    said = {name: value for name, value in values.items() if value != _NEUTRAL[name]}
    if sampling.max_tokens is not None:
        said["max_tokens"] = sampling.max_tokens
    if sampling.seed is not None:
        said["seed"] = sampling.seed
    if sampling.stop:
        said["stop"] = list(sampling.stop)
    return said


def _to_message(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}
