"""Our port beside llama.cpp's server: same GGUF, threads and questions; runs alternate, figures are
medians, ratios are medians of each pair of neighbouring runs.

`DEEPINFER_LLAMA_SERVER` names a `llama-server` built with `-DGGML_NATIVE=ON` (the processor's note
in `cpu_vs_llama_cpp` holds for it too). Without one, `DEEPINFER_LLAMA_CPP_PYTHON` may name an
interpreter with `llama-cpp-python[server]`, which answers one request after the other.

Both servers stay loaded; each run asks one of them. Clients ask streamed chats of their own, each
`--requests` one after the other, and share the machine with the server. `cpu_ms_per_token` is the
time of the server's process, which other programs on the machine change less than the rest.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil

from app.engine.executors.cpu import default_num_threads
from app.hub.starter import require_starter
from benchmarks.measure import command_line, own_home, print_json, run_json
from benchmarks.server_load import LoadResult, Workload, run_load
from benchmarks.server_process import (
    BINARY,
    INTERPRETER,
    find_port,
    llama_commands,
    own_command,
    run_server,
)

_NUM_SLOTS = 8
_CONTEXT_LEN = 2048
_NUM_CLIENTS = (1, 4, 8)
_OURS = "deepinfer"

Server = tuple[str, int]  # base URL, process id
Run = tuple[LoadResult, float]  # the server's CPU seconds per token


def is_possible() -> bool:
    """Whether there is a server to compare with."""
    return bool(os.environ.get(BINARY) or os.environ.get(INTERPRETER))


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """The document: per number of clients both sides' figures, and ratios above 1 where ours is
    better."""
    threads = default_num_threads()  # what our server takes
    port = find_port()
    found = llama_commands(args.gguf, port, threads, _NUM_SLOTS, _CONTEXT_LEN)
    if not found:
        raise SystemExit(f"Set {BINARY} or {INTERPRETER}; neither names a server.")
    ((name, command),) = found.items()
    with own_home() as home, run_server(command, port) as theirs:
        native = home / "native"
        run_json("-m", "app", "convert", str(args.gguf), "-o", str(native), "--json")
        own_port = find_port()
        own = own_command(native, own_port, _CONTEXT_LEN)
        with run_server(own, own_port) as ours:
            runs = _alternate({_OURS: ours, name: theirs}, args)
    clients = {str(number): _summarise(runs[number], name) for number in _NUM_CLIENTS}
    return {"threads": threads, "server": name, "clients": clients}


def render(figures: dict[str, Any]) -> str:
    """The Markdown table of README.md."""
    name = figures["server"]
    lines = [
        f"{figures['threads']} threads, {name} beside it.",
        "",
        "| clients | tokens/s | first token, half of all | first token, 99 % | CPU for a token |",
        "|---|---|---|---|---|",
    ]
    for number, measured in figures["clients"].items():
        ours, ratios = measured[_OURS], measured["ratios"]
        lines.append(
            f"| {number} | {ours['tok_s']:.0f} ({ratios['tok_s']:.2f}x) "
            f"| {ours['ttft_p50_s']:.2f} s ({ratios['ttft_p50_s']:.2f}x) "
            f"| {ours['ttft_p99_s']:.2f} s (theirs {measured[name]['ttft_p99_s']:.2f}) "
            f"| {ours['cpu_ms_per_token']:.1f} ms ({ratios['cpu_ms_per_token']:.2f}x) |"
        )
    return "\n".join(lines)


def _alternate(
    servers: dict[str, Server], args: argparse.Namespace
) -> dict[int, list[dict[str, Run]]]:
    workload = Workload(args.requests, args.prompt_words, args.gen)
    for server in servers.values():
        _run(server, _NUM_SLOTS, Workload(1, args.prompt_words, args.gen), seed=-1)  # warm
    runs: dict[int, list[dict[str, Run]]] = {number: [] for number in _NUM_CLIENTS}
    for run in range(args.runs):
        for number in _NUM_CLIENTS:
            order = list(servers.items()) if run % 2 else list(servers.items())[::-1]
            seed = 1000 * run + number
            runs[number].append(
                {name: _run(server, number, workload, seed) for name, server in order}
            )
    return runs


def _run(server: Server, num_clients: int, workload: Workload, seed: int) -> Run:
    base_url, pid = server
    before_s = _cpu_s(pid)
    result = run_load(base_url, num_clients, workload, seed)
    return result, (_cpu_s(pid) - before_s) / (len(result.ttfts_s) * workload.num_tokens)


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def _summarise(runs: list[dict[str, Run]], name: str) -> dict[str, Any]:
    return {
        _OURS: _figures([run[_OURS] for run in runs]),
        name: _figures([run[name] for run in runs]),
        "ratios": {
            "tok_s": median(run[_OURS][0].tok_s / run[name][0].tok_s for run in runs),
            "ttft_p50_s": median(
                median(run[name][0].ttfts_s) / median(run[_OURS][0].ttfts_s) for run in runs
            ),
            "cpu_ms_per_token": median(run[name][1] / run[_OURS][1] for run in runs),
        },
    }


def _figures(runs: list[Run]) -> dict[str, float]:
    ttfts = [ttft for result, _ in runs for ttft in result.ttfts_s]
    return {
        "tok_s": median(result.tok_s for result, _ in runs),
        "cpu_ms_per_token": 1000 * median(cpu_s for _, cpu_s in runs),
        "ttft_p50_s": median(ttfts),
        "ttft_p99_s": float(np.percentile(ttfts, 99)),
        "num_requests": len(ttfts),
    }


def _parse_arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--gguf", type=Path, default=None, help="default: the starter model")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--requests", type=int, default=4)
    parser.add_argument("--prompt-words", type=int, default=96)
    parser.add_argument("--gen", type=int, default=64)
    args = parser.parse_args()
    args.gguf = args.gguf or require_starter()
    return args


if __name__ == "__main__":
    print_json(measure(_parse_arguments()))
