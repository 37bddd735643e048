"""Many clients straight at the engine's host: tokens per second together, time to the first token,
and how long a reply pauses at most while prompts of others come.

    python -m benchmarks.batching [MODEL] [--device cpu] [--clients 1 4 8] [--gen 64] [--requests 3]

Every prompt differs from its first words on, so nothing is shared. MODEL is a native folder;
without one the starter model is converted.
"""

from __future__ import annotations

import argparse
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from app.core.events import TokensGenerated
from app.engine.host import EngineHost
from app.engine.request import Request, SamplingParams
from benchmarks.measure import Figures, command_line, own_home, print_json, run_json

_STORY = "The keeper of the lighthouse wrote down what the sea had brought that day. " * 12


@dataclass(slots=True)
class _Heard:
    """Of all replies: seconds to the first token, seconds between two, and tokens."""

    first_s: list[float] = field(default_factory=list)
    gaps_s: list[float] = field(default_factory=list)
    num_tokens: int = 0

    def listen(self, host: EngineHost, request: Request) -> None:
        """One request from its beginning to its end."""
        began_s = last_s = time.perf_counter()
        is_first = True
        for event in host.submit(request):
            if isinstance(event, TokensGenerated):
                now_s = time.perf_counter()
                (self.first_s if is_first else self.gaps_s).append(now_s - last_s)
                is_first, last_s = False, now_s
                self.num_tokens += len(event.token_ids)
        assert not is_first, f"No token came in {time.perf_counter() - began_s:.1f} s."


def measure(host: EngineHost, num_clients: int, num_requests: int, num_tokens: int) -> Figures:
    """Clients that each ask so many times, one question after the other's reply."""
    heard = [_Heard() for _ in range(num_clients)]
    before = host.metrics().tokens_prefilled

    def ask(client: int) -> None:
        for number in range(num_requests):
            prompt = f"Client {client} of {num_clients} asks for the {number}th time. {_STORY}"
            sampling = SamplingParams(temperature=0.0, max_tokens=num_tokens, ignore_eos=True)
            heard[client].listen(host, Request(prompt=prompt, sampling=sampling))

    threads = [threading.Thread(target=ask, args=(client,)) for client in range(num_clients)]
    began_s = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall_s = time.perf_counter() - began_s
    num_generated = sum(each.num_tokens for each in heard)
    num_prefilled = host.metrics().tokens_prefilled - before
    first_s = [seconds for each in heard for seconds in each.first_s]
    gaps_s = [seconds for each in heard for seconds in each.gaps_s]
    return {
        "generated_tok_s": num_generated / wall_s,
        "prefilled_tok_s": num_prefilled / wall_s,
        "first_token_p50_ms": 1000 * _percentile(first_s, 50),
        "first_token_p99_ms": 1000 * _percentile(first_s, 99),
        "pause_p50_ms": 1000 * _percentile(gaps_s, 50),
        "pause_p99_ms": 1000 * _percentile(gaps_s, 99),
        "pause_max_ms": 1000 * max(gaps_s),
    }


def main() -> None:
    """Prints one JSON document: the figures by number of clients."""
    args = _parse()
    with own_home() as home, EngineHost() as host:
        model_dir = args.model or _convert_starter(home)
        model = host.load_and_wait(model_dir, args.device)
        measure(host, 2, 1, 8)  # the first steps build and fetch things
        figures = {
            str(count): measure(host, count, args.requests, args.gen) for count in args.clients
        }
    print_json({"device": model.device, "num_slots": model.num_slots, "clients": figures})


def _parse() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 4, 8])
    parser.add_argument("--requests", type=int, default=3)
    parser.add_argument("--gen", type=int, default=64)
    return parser.parse_args()


def _convert_starter(home: Path) -> Path:
    run_json("-m", "app", "convert", "starter", "-o", str(home / "starter"), "--json")
    return home / "starter"


def _percentile(values: list[float], percent: int) -> float:
    """The nearest rank."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


if __name__ == "__main__":
    main()
