"""Clients of an OpenAI port, as light as can be: they share the machine with what they measure."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

_WORDS = (
    *("river", "stone", "window", "garden", "morning", "letter", "silver", "road", "winter"),
    *("music", "paper", "mountain", "question", "number", "forest", "bridge", "harbour", "engine"),
    *("story", "colour", "people", "answer", "market", "village", "summer", "light", "table"),
)
_CHAT = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Workload:
    """What each client asks, one request after the other."""

    num_requests: int
    prompt_words: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Tokens per second of all clients together, and each request's time to its first token."""

    tok_s: float
    ttfts_s: tuple[float, ...]


def run_load(base_url: str, num_clients: int, workload: Workload, seed: int) -> LoadResult:
    """All clients begin at once; the same `seed` asks the same questions."""
    return asyncio.run(_run_load(base_url, num_clients, workload, seed))


async def _run_load(base_url: str, num_clients: int, workload: Workload, seed: int) -> LoadResult:
    started = time.perf_counter()
    clients = [
        _run_client(base_url, workload, random.Random(f"{seed} {index}"))
        for index in range(num_clients)
    ]
    ttfts = [ttft for ttfts in await asyncio.gather(*clients) for ttft in ttfts]
    elapsed_s = time.perf_counter() - started
    return LoadResult(len(ttfts) * workload.num_tokens / elapsed_s, tuple(ttfts))


async def _run_client(base_url: str, workload: Workload, rng: random.Random) -> list[float]:
    return [await _ask(base_url, _create_body(workload, rng)) for _ in range(workload.num_requests)]


def _create_body(workload: Workload, rng: random.Random) -> bytes:
    """A question of its own from its first word on, so that no cache has an answer."""
    words = " ".join(rng.choice(_WORDS) for _ in range(workload.prompt_words))
    body = {
        "model": "any",
        "messages": [{"role": "user", "content": f"{rng.random()} {words}"}],
        "max_tokens": workload.num_tokens,
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
    }
    return json.dumps(body).encode()


async def _ask(base_url: str, body: bytes) -> float:
    """Seconds to the first text of the reply, which is read to its end."""
    address = urlsplit(base_url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    started = time.perf_counter()
    head = f"POST {_CHAT} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    ttft_s = 0.0
    is_done = False
    while line := await reader.readline():
        is_done = is_done or line.startswith(b"data: [DONE]")
        if not ttft_s and any(_iter_text(line)):
            ttft_s = time.perf_counter() - started
    writer.close()
    await writer.wait_closed()
    if not is_done:
        raise RuntimeError("A stream ended before its end.")
    return ttft_s


def _iter_text(line: bytes) -> Iterator[str]:
    if line.startswith(b"data: {"):
        for choice in json.loads(line[6:])["choices"]:
            yield choice["delta"].get("content") or ""
