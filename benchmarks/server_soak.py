"""Mixed load on the port for `--minutes`: whether memory stays flat and every reply is right.

Half of the clients read their streams to the end, some drop them midway, some ask for JSON that
must match a schema, some ask what is refused. A probe asks the same greedy question all the time:
its text must never change. Prints JSON; `rss_*` are those of the server's process once all pages of
its KV cache were written, the growth is that of the second half.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from contextlib import aclosing
from typing import Any

import httpx2
import psutil

from app.hub.starter import require_starter
from benchmarks.measure import command_line, own_home, print_json, run_json
from benchmarks.server_process import find_port, own_command, run_server

_CONTEXT_LEN = 512
_NUM_SLOTS = 8
_CHAT = "/v1/chat/completions"
_SAMPLE_S = 5.0
_SCHEMA = {
    "type": "object",
    "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


class Soak:
    """Clients that run until a deadline, and what they counted."""

    def __init__(self, base_url: str) -> None:
        self._client = httpx2.AsyncClient(base_url=base_url, timeout=300)
        self._deadline_s = 0.0
        self.counts: Counter[str] = Counter()

    async def fill_cache(self) -> None:
        """Writes every page of the KV cache once: until then memory grows, and may."""
        rng = random.Random(0)
        long = {"max_tokens": _CONTEXT_LEN, "ignore_eos": True}
        bodies = [{**_story(rng), **long} for _ in range(_NUM_SLOTS)]
        await asyncio.gather(*(self._client.post(_CHAT, json=body) for body in bodies))

    async def run(self, num_clients: int, minutes: float) -> None:
        """Each client draws what it does next."""
        self._deadline_s = time.monotonic() + 60 * minutes
        expected = await self._probe()
        await asyncio.gather(
            self._probe_on(expected), *(self._run_client(i) for i in range(num_clients))
        )

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.aclose()

    async def _run_client(self, index: int) -> None:
        rng = random.Random(index)
        kinds = (self._read, self._read, self._drop, self._ask_json, self._be_refused)
        while time.monotonic() < self._deadline_s:
            kind = rng.choice(kinds)
            await kind(rng)
            self.counts[kind.__name__.strip("_")] += 1

    async def _probe_on(self, expected: str) -> None:
        while time.monotonic() < self._deadline_s:
            self.counts["probes" if await self._probe() == expected else "wrong_probes"] += 1
            await asyncio.sleep(1)

    async def _probe(self) -> str:
        body = {"prompt": "The capital of France is", "temperature": 0, "max_tokens": 12}
        reply = await self._client.post("/v1/completions", json=body)
        return str(reply.raise_for_status().json()["choices"][0]["text"])

    async def _read(self, rng: random.Random) -> None:
        last = ""
        async with aclosing(self._iter_lines(_story(rng))) as lines:
            async for line in lines:
                last = line or last
        if last != "data: [DONE]":
            self.counts["cut_streams"] += 1

    async def _drop(self, rng: random.Random) -> None:
        num_left = rng.randrange(1, 30)
        async with aclosing(self._iter_lines(_story(rng))) as lines:
            async for _ in lines:
                num_left -= 1
                if num_left == 0:
                    return

    async def _iter_lines(self, body: dict[str, Any]) -> Any:
        async with self._client.stream("POST", _CHAT, json={**body, "stream": True}) as reply:
            async for line in reply.aiter_lines():
                yield line

    async def _ask_json(self, rng: random.Random) -> None:
        form = {"type": "json_schema", "json_schema": {"name": "n", "schema": _SCHEMA}}
        reply = await self._client.post(_CHAT, json={**_story(rng), "response_format": form})
        (choice,) = reply.raise_for_status().json()["choices"]
        if choice["finish_reason"] == "length":  # white space may fill a small limit
            self.counts["cut_json"] += 1
        elif set(json.loads(choice["message"]["content"])) != {"a", "b"}:
            self.counts["wrong_json"] += 1

    async def _be_refused(self, rng: random.Random) -> None:
        wrong: list[dict[str, Any]] = [
            {"n": 99},
            {"messages": []},
            {"messages": [{"role": "user", "content": "word " * 2 * _CONTEXT_LEN}]},
        ]
        reply = await self._client.post(_CHAT, json={**_story(rng), **rng.choice(wrong)})
        if reply.status_code != 400:
            self.counts["wrong_status"] += 1


def _story(rng: random.Random) -> dict[str, Any]:
    question = f"Tell story {rng.randrange(10**6)} of a {rng.choice(('river', 'road', 'house'))}."
    return {
        "messages": [{"role": "user", "content": question * rng.randrange(1, 12)}],
        "max_tokens": rng.randrange(16, 96),
        "temperature": rng.choice((0, 1)),
    }


async def _soak(base_url: str, pid: int, args: argparse.Namespace) -> dict[str, Any]:
    soak = Soak(base_url)
    await soak.fill_cache()
    started_s = time.monotonic()
    samples: list[tuple[float, int]] = []

    async def sample() -> None:
        while True:
            samples.append((time.monotonic() - started_s, psutil.Process(pid).memory_info().rss))
            await asyncio.sleep(_SAMPLE_S)

    sampler = asyncio.create_task(sample())
    await soak.run(args.clients, args.minutes)
    sampler.cancel()
    await soak.close()
    return {
        "seconds": time.monotonic() - started_s,
        "counts": dict(soak.counts),
        "rss_start_bytes": samples[0][1],
        "rss_end_bytes": samples[-1][1],
        "rss_peak_bytes": max(rss for _, rss in samples),
        "rss_growth_bytes_per_minute": _slope(samples[len(samples) // 2 :]),
    }


def _slope(samples: list[tuple[float, int]]) -> float:
    """Least squares, in bytes per minute; 0 for fewer than two samples."""
    if len(samples) < 2:
        return 0.0
    mean_at = sum(at_s for at_s, _ in samples) / len(samples)
    mean_rss = sum(rss for _, rss in samples) / len(samples)
    covariance = sum((at_s - mean_at) * (rss - mean_rss) for at_s, rss in samples)
    return 60 * covariance / sum((at_s - mean_at) ** 2 for at_s, _ in samples)


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Converts the starter model, serves it and asks."""
    with own_home() as home:
        native = home / "native"
        run_json("-m", "app", "convert", str(require_starter()), "-o", str(native), "--json")
        port = find_port()
        with run_server(own_command(native, port, _CONTEXT_LEN), port) as (base_url, pid):
            return asyncio.run(_soak(base_url, pid, args))


def _parse_arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--clients", type=int, default=12)
    return parser.parse_args()


if __name__ == "__main__":
    print_json(measure(_parse_arguments()))
