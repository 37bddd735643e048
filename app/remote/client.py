"""Asks a server that speaks OpenAI's words, on an event loop, so that a cancel acts at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from httpx2 import AsyncClient, EventSource, Limits, Response, Timeout

from app import __version__
from app.core.errors import RemoteError
from app.engine.request import Request
from app.remote.chunks import DONE, Chunk, parse_chunk
from app.remote.endpoint import RemoteEndpoint, RemoteModel
from app.remote.failures import check_status, explained, read_json
from app.remote.wire import chat_body

# A long prompt on a slow machine takes minutes before the first token, and not every server sends
# signs of life meanwhile.
_TIMEOUT = Timeout(30.0, connect=10.0)
_REPLY_TIMEOUT = Timeout(30.0, connect=10.0, read=600.0)


async def list_models(endpoint: RemoteEndpoint) -> tuple[RemoteModel, ...]:
    """What `GET /models` lists, in its order; raises RemoteError."""
    with explained(endpoint.base_url):
        async with _create_client(endpoint, _TIMEOUT) as client:
            response = await client.get(f"{endpoint.base_url}/models")
            check_status(response, endpoint.base_url)
    body = read_json(response)
    entries = body.get("data") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        raise RemoteError(
            "{base_url} lists no models; is it an OpenAI server?", base_url=endpoint.base_url
        )
    return tuple(_to_model(entry) for entry in entries if isinstance(entry, dict))


async def choose_model(endpoint: RemoteEndpoint) -> tuple[RemoteEndpoint, RemoteModel]:
    """The wanted model, or the first one that the server lists, and the endpoint with its name;
    raises RemoteError.
    """
    models = await list_models(endpoint)
    wanted = [model for model in models if model.name == endpoint.model or not endpoint.model]
    if not models:
        raise RemoteError("{base_url} has no model loaded.", base_url=endpoint.base_url)
    if not wanted:
        names = ", ".join(model.name for model in models[:5])
        raise RemoteError(
            "{base_url} has no model {model}; it has {names}.",
            base_url=endpoint.base_url,
            model=endpoint.model,
            names=names,
        )
    return replace(endpoint, model=wanted[0].name), wanted[0]


async def stream_chat(endpoint: RemoteEndpoint, request: Request) -> AsyncIterator[Chunk]:
    """The chunks of one reply; raises RemoteError, also when they end without a last one."""
    with explained(endpoint.base_url):
        async with (
            _create_client(endpoint, _REPLY_TIMEOUT) as client,
            client.stream(
                "POST",
                f"{endpoint.base_url}/chat/completions",
                json=chat_body(request, endpoint.model),
            ) as response,
        ):
            if response.status_code != 200:
                await response.aread()
                check_status(response, endpoint.base_url)
            async for chunk in _iter_chunks(response):
                yield chunk


async def _iter_chunks(response: Response) -> AsyncIterator[Chunk]:
    is_complete = False
    async for event in EventSource(response):
        if event.data == DONE:
            return
        if event.data:
            chunk = parse_chunk(event.data)
            is_complete = is_complete or bool(chunk.finish_reason)
            yield chunk
    if not is_complete:
        raise RemoteError("The server ended the reply in the middle.")


def _create_client(endpoint: RemoteEndpoint, timeout: Timeout) -> AsyncClient:
    headers = {"User-Agent": f"DeepInfer/{__version__}"}
    if endpoint.api_key:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    # A redirect is not followed: the key is for this server. Proxies of the environment are for
    # other machines.
    return AsyncClient(
        headers=headers,
        timeout=timeout,
        follow_redirects=False,
        trust_env=not endpoint.is_near,
        limits=Limits(max_connections=1),
    )


def _to_model(entry: dict[str, Any]) -> RemoteModel:
    """`max_model_len` is vLLM's word, `meta.n_ctx_train` llama-server's."""
    meta = entry.get("meta")
    trained = meta.get("n_ctx_train") if isinstance(meta, dict) else None
    length = entry.get("max_model_len") or trained
    return RemoteModel(str(entry.get("id", "")), length if isinstance(length, int) else None)
