"""Many clients at once get what each would have got alone."""

from __future__ import annotations

import asyncio
from typing import Any

from openai import AsyncOpenAI, OpenAI

from app.server.runner import ServerRunner

NUM_STREAMS = 32
NUM_TOKENS = 16


def _options(index: int) -> dict[str, Any]:
    """Half of them greedy, half with a seed."""
    drawing = {"temperature": 0} if index % 2 else {"temperature": 1.2, "seed": index}
    messages = [{"role": "user", "content": f"Tell me a fact about the number {index}."}]
    return {"model": "m", "messages": messages, "max_tokens": NUM_TOKENS, **drawing}


async def _stream(client: AsyncOpenAI, index: int) -> str:
    text = ""
    stream = await client.chat.completions.create(stream=True, **_options(index))
    async for chunk in stream:
        text += chunk.choices[0].delta.content or ""
    return text


async def _stream_all(server: ServerRunner) -> list[str]:
    async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        return await asyncio.gather(*(_stream(client, index) for index in range(NUM_STREAMS)))


def test_32_streams_have_the_texts_of_32_requests(server: ServerRunner, client: OpenAI) -> None:
    together = asyncio.run(_stream_all(server))
    for index in range(0, NUM_STREAMS, 5):
        alone = client.chat.completions.create(**_options(index))
        assert together[index] == alone.choices[0].message.content
