"""The cpu executor beside llama.cpp: same GGUF, threads and prompt; runs alternate, figures are
medians, ratios are medians of each pair of neighbouring runs.

`DEEPINFER_LLAMA_CPP_PYTHON` names the interpreter of an environment with `llama-cpp-python` built
from source with native flags (`CMAKE_ARGS=-DGGML_NATIVE=ON`). On processors with AMX, GCC 12 drops
stores of llama.cpp's tile configuration, and the result dies of an illegal instruction;
`-DCMAKE_CXX_FLAGS='-fno-tree-dse -fno-dse'` beside it makes a build that works.

Both load to the first token of a one-token prompt, because llama.cpp reads mapped weights only
then. `rss_bytes` is taken after that; `decode_long_tok_s` is decoding behind the prompt and
`--further` more tokens. Our figures come from the native folder that the GGUF converts to.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from gguf.constants import GGMLQuantizationType

from app.checkpoint.reader import Checkpoint
from app.engine.bench import measure_read_bandwidth
from app.engine.executors.cpu import default_num_threads
from app.hub.starter import require_starter
from benchmarks.measure import Figures, command_line, medians, own_home, print_json, run_json
from benchmarks.random_gguf import write_random_gguf
from kernels.cpu.native import Context

_INTERPRETER = "DEEPINFER_LLAMA_CPP_PYTHON"
_SETTLE_S = 2.5  # before that a fresh file's hash is not remembered (app.checkpoint.verification)
_RANDOM = {"1B Q4_K": GGMLQuantizationType.Q4_K, "1B Q4_0": GGMLQuantizationType.Q4_0}
_MODELS = ("starter", *_RANDOM)
_HIGHER_IS_BETTER = ("prefill_tok_s", "decode_tok_s", "decode_long_tok_s")
_LOWER_IS_BETTER = ("load_s", "rss_bytes", "peak_rss_bytes")


def is_possible() -> bool:
    """Whether there is a llama.cpp to compare with."""
    return bool(os.environ.get(_INTERPRETER))


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """The document: per model both sides' medians, the ratios, and shares of the limits."""
    interpreter = os.environ.get(_INTERPRETER)
    if not interpreter:
        raise SystemExit(f"Set {_INTERPRETER} to the interpreter that has llama-cpp-python.")
    with own_home() as home:
        models = {
            name: _measure_model(path, interpreter, args)
            for name, path in _iter_ggufs(home, args.models)
        }
    with closing(Context(1)) as context:
        instruction_set = context.instruction_set
    return {"threads": args.threads, "instruction_set": instruction_set, "models": models}


def render(figures: dict[str, Any]) -> str:
    """The table of README.md: ours, and how many times llama.cpp's."""
    lines = [
        f"{figures['threads']} threads, {figures['instruction_set']} on our side.",
        "",
        "| model | decode | prompt | load | memory | of the read bandwidth |",
        "|---|---|---|---|---|---|",
    ]
    for name, model in figures["models"].items():
        own, ratios = model["deepinfer"], model["ratios"]
        lines.append(
            f"| {name} | {own['decode_tok_s']:.1f} tokens/s ({ratios['decode_tok_s']:.2f}x) "
            f"| {own['prefill_tok_s']:.0f} tokens/s ({ratios['prefill_tok_s']:.2f}x) "
            f"| {own['load_s']:.2f} s ({ratios['load_s']:.2f}x) "
            f"| {own['rss_bytes'] / 1e9:.2f} GB ({ratios['rss_bytes']:.2f}x) "
            f"| {100 * model['decode_bandwidth_fraction']:.0f} % |"
        )
    return "\n".join(lines)


def _iter_ggufs(home: Path, wanted: list[str]) -> Iterator[tuple[str, Path]]:
    """One file at a time: the random ones are removed again."""
    if "starter" in wanted:
        yield "starter", require_starter()
    for name in wanted:
        if name in _RANDOM:
            path = write_random_gguf(home / f"{name}.gguf", _RANDOM[name])
            yield name, path
            path.unlink()


def _measure_model(path: Path, interpreter: str, args: argparse.Namespace) -> dict[str, Any]:
    native = Path(os.environ["DEEPINFER_HOME"]) / f"native {path.stem}"
    run_json("-m", "app", "convert", str(path), "-o", str(native), "--json")
    _verify_once(native)
    checkpoint_bytes = sum(file.stat().st_size for file in native.iterdir())
    ours, theirs, bandwidths = [], [], []
    for _ in range(args.runs):
        bandwidths.append(measure_read_bandwidth(args.threads))
        ours.append(_run_ours(native, args))
        theirs.append(_run_llama_cpp(interpreter, path, args))
    shutil.rmtree(native)
    return _summarise(ours, theirs, bandwidths, checkpoint_bytes)


def _verify_once(native: Path) -> None:
    """A folder's hashes are computed at its first load; the runs measure every other one."""
    time.sleep(_SETTLE_S)
    Checkpoint.open(native).close()


def _lengths(args: argparse.Namespace) -> list[str]:
    return [str(n) for n in (args.threads, args.prompt, args.gen, args.further)]


def _run_ours(native: Path, args: argparse.Namespace) -> Figures:
    return run_json("-m", "benchmarks.cpu_run", str(native), *_lengths(args))


def _run_llama_cpp(interpreter: str, path: Path, args: argparse.Namespace) -> Figures:
    script = Path(__file__).with_name("llama_cpp_run.py")
    command = [interpreter, str(script), str(path), *_lengths(args)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def _summarise(
    ours: list[Figures], theirs: list[Figures], bandwidths: list[float], checkpoint_bytes: int
) -> dict[str, Any]:
    pairs = list(zip(ours, theirs, strict=True))
    ratios = {n: median(a[n] / b[n] for a, b in pairs) for n in _HIGHER_IS_BETTER}
    ratios |= {n: median(a[n] / b[n] for a, b in pairs) for n in _LOWER_IS_BETTER}
    own = medians(ours)
    needed = checkpoint_bytes + own["kv_bytes"]
    shares = [
        run["decode_tok_s"] * run["weights_bytes"] / bandwidth
        for run, bandwidth in zip(ours, bandwidths, strict=True)
    ]
    return {
        "deepinfer": own,
        "llama_cpp": medians(theirs),
        "ratios": ratios,
        "read_bandwidth_bytes_s": median(bandwidths),
        "decode_bandwidth_fraction": median(shares),
        "decode_long_over_short": own["decode_long_tok_s"] / own["decode_tok_s"],
        "rss_over_checkpoint_and_kv": own["rss_bytes"] / needed,
        "peak_rss_over_checkpoint_and_kv": own["peak_rss_bytes"] / needed,
    }


def _parse_arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--models", nargs="+", choices=_MODELS, default=_MODELS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=default_num_threads())
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--gen", type=int, default=64)
    parser.add_argument("--further", type=int, default=512, help="prompt tokens after it")
    return parser.parse_args()


if __name__ == "__main__":
    print_json(measure(_parse_arguments()))
