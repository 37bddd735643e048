"""All benchmarks, and the tables of README.md made from them: `python3 dev.py bench [NAME ...]`.

With names, only those are measured; a table is rewritten when all that it shows was.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from app.core.device import describe_machine
from benchmarks import bundle_startup, conversion_table, cpu_vs_llama_cpp, server_vs_llama_cpp
from benchmarks.measure import command_line, named, print_json, run_json
from kernels.cpu.loader import load

_ROOT = Path(__file__).resolve().parents[1]
_README = _ROOT / "README.md"
_BEGIN, _END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
_GRIDS_BEGIN, _GRIDS_END = "<!-- conversions: begin -->", "<!-- conversions: end -->"
_BESIDE_BEGIN, _BESIDE_END = "<!-- llama.cpp: begin -->", "<!-- llama.cpp: end -->"
_PORT_BEGIN, _PORT_END = "<!-- port: begin -->", "<!-- port: end -->"
_QUIET_LOAD = 1.0
_NAMES = (
    "startup",
    "bundle_startup",  # where `dev.py package` left one for Linux
    "idle",
    "plots",
    "conversion",
    "conversion_speed",
    "conversion_memory",
    "conversion_table",
    "decode",
    "drafting",
    "responsiveness",
    "download_responsiveness",
    "library_responsiveness",
    "cpu_vs_llama_cpp",  # where DEEPINFER_LLAMA_CPP_PYTHON names one
    "server_vs_llama_cpp",  # where DEEPINFER_LLAMA_SERVER does
)

# What needs more than this checkout.
_BESIDE = {
    "bundle_startup": bundle_startup,
    "cpu_vs_llama_cpp": cpu_vs_llama_cpp,
    "server_vs_llama_cpp": server_vs_llama_cpp,
}

Rows = list[tuple[str, str]]


def _startup_rows(figures: dict[str, Any]) -> Rows:
    return [("Process start to first paint of the window", f"{figures['first_paint_s']:.2f} s")]


def _bundle_rows(figures: dict[str, Any]) -> Rows:
    what = "The same of the frozen program, on a screen; computed until then"
    return [(what, f"{figures['median_s']:.2f} s, {figures['cpu_s']:.2f} s")]


def _idle_rows(figures: dict[str, Any]) -> Rows:
    return [
        (
            f"The window without a model, idle, {state}: memory, processor, wake-ups",
            f"{at_rest['rss_bytes'] / (1 << 20):.0f} MiB, "
            f"{at_rest['cpu_percent']:.2f} % of a core, {at_rest['wakeups_per_s']:.0f} a second",
        )
        for state, at_rest in figures.items()
    ]


def _plot_rows(figures: dict[str, Any]) -> Rows:
    what = "Live plots of ten minutes while a reply streams"
    return [(what, f"{figures['cpu_percent']:.1f} % of a core")]


def _conversion_rows(figures: dict[str, Any]) -> Rows:
    peak_mib = figures["peak_rss_bytes"] / (1 << 20)
    return [
        ("Converting the starter model", f"{figures['seconds']:.1f} s, {peak_mib:.0f} MiB at most")
    ]


def _conversion_speed_rows(figures: dict[str, Any]) -> Rows:
    rows = []
    for name, speed in figures.items():
        if "gguf_dequantize_mb_s" in speed:
            what = f"{name} converted exactly, one core (gguf only decoding)"
            value = f"{speed['exact_mb_s']:.0f} MB/s ({speed['gguf_dequantize_mb_s']:.0f})"
            rows.append((what, value))
        elif "exact_mb_s" in speed:
            rows.append((f"{name} converted, one core", f"{speed['exact_mb_s']:.0f} MB/s"))
    if "llama.cpp" in figures:
        speed = figures["llama.cpp"]["requantize_mb_s"]
        rows.append(("llama.cpp requantizing Q4_K_M to Q4_0, one core", f"{speed:.0f} MB/s"))
    return rows


def _conversion_memory_rows(figures: dict[str, Any]) -> Rows:
    return [
        (
            f"7B shapes, vocabulary of 152,064, {case}: peak memory",
            f"{measured['peak_rss_bytes'] / 1e9:.2f} GB, {measured['mb_per_s']:.0f} MB/s",
        )
        for case, measured in figures.items()
    ]


def _decode_rows(figures: dict[str, Any]) -> Rows:
    return [
        (
            f"Starter model on `{device}`: prompt, decode",
            f"{speed['prefill_tok_s']:.0f}, {speed['decode_tok_s']:.1f} tokens/s",
        )
        for device, speed in figures.items()
    ]


def _drafting_rows(figures: dict[str, Any]) -> Rows:
    return [
        (
            f"Starter model asked for {task}: decode with guesses (without)",
            f"{speed['decode_tok_s']:.0f} tokens/s ({speed['plain_tok_s']:.0f})",
        )
        for task, speed in figures.items()
    ]


def _responsiveness_rows(figures: dict[str, Any]) -> Rows:
    return [_lateness_row(phase, lateness) for phase, lateness in figures.items()]


def _download_rows(figures: dict[str, Any]) -> Rows:
    speed = figures["download"]["mb_per_s"]
    return [_lateness_row(f"a download of {speed:.0f} MB/s", figures["download"])]


def _library_rows(figures: dict[str, Any]) -> Rows:
    num_files = figures["scan"]["files"]
    return [_lateness_row(f"a look at {num_files} files", figures["scan"])]


def _lateness_row(phase: str, lateness: dict[str, Any]) -> tuple[str, str]:
    what = f"Event loop lateness during {phase}: p99, worst"
    return what, f"{lateness['p99_ms']:.1f} ms, {lateness['max_ms']:.0f} ms"


_ROWS: dict[str, Callable[[dict[str, Any]], Rows]] = {
    "startup": _startup_rows,
    "idle": _idle_rows,
    "plots": _plot_rows,
    "bundle_startup": _bundle_rows,
    "conversion": _conversion_rows,
    "conversion_speed": _conversion_speed_rows,
    "conversion_memory": _conversion_memory_rows,
    "decode": _decode_rows,
    "drafting": _drafting_rows,
    "responsiveness": _responsiveness_rows,
    "download_responsiveness": _download_rows,
    "library_responsiveness": _library_rows,
}


def main() -> None:
    """Measures those that are named, or all that this machine can."""
    parser = command_line(__doc__)
    parser.add_argument("names", nargs="*", type=named({name: name for name in _NAMES}))
    names = parser.parse_args().names
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    load()  # is built before anything is timed, as a bundle has it
    disturbance = _describe_disturbance()
    possible = [name for name in _NAMES if name not in _BESIDE or _BESIDE[name].is_possible()]
    results = {name: run_json("-m", f"benchmarks.{name}") for name in names or possible}
    print_json(results)
    _write_tables(results, disturbance)


def _describe_disturbance() -> str:
    """Names other work on the machine, which makes figures too slow; empty when there is none."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load < _QUIET_LOAD:
        return ""
    sys.stderr.write(f"The machine is busy (load {load:.1f}): these figures will be too slow.\n")
    return f" Measured beside other work (load {load:.1f}), so too slow."


def _write_tables(results: dict[str, Any], disturbance: str) -> None:
    """Rewrites each of README's tables whose benchmarks were all measured."""
    described = _describe_run() + disturbance
    text = _README.read_text(encoding="utf-8")
    if results.keys() >= _ROWS.keys() - _BESIDE.keys():
        shown = [name for name in _NAMES if name in _ROWS and name in results]
        rows = [row for name in shown for row in _ROWS[name](results[name])]
        lines = ["| what | measured |", "|---|---|"]
        lines += [f"| {what} | {value} |" for what, value in rows]
        text = _replace_between(text, _BEGIN, _END, "\n".join([described, "", *lines]))
    if "conversion_table" in results:
        grids = conversion_table.render(results["conversion_table"])
        text = _replace_between(text, _GRIDS_BEGIN, _GRIDS_END, f"{described}\n\n{grids}")
    if "cpu_vs_llama_cpp" in results:
        beside = cpu_vs_llama_cpp.render(results["cpu_vs_llama_cpp"])
        text = _replace_between(text, _BESIDE_BEGIN, _BESIDE_END, f"{described}\n{beside}")
    if "server_vs_llama_cpp" in results:
        port = server_vs_llama_cpp.render(results["server_vs_llama_cpp"])
        text = _replace_between(text, _PORT_BEGIN, _PORT_END, f"{described}\n{port}")
    _README.write_text(text, encoding="utf-8")


def _replace_between(text: str, begin: str, end: str, content: str) -> str:
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n{content}\n{end}{after}"


def _describe_run() -> str:
    machine = describe_machine()
    return (
        f"Commit {_commit()}, {date.today().isoformat()}, {machine.cpu_name}, "
        f"{machine.num_threads} threads, medians unless said; "
        "`python3 dev.py bench` measures again."
    )


def _commit() -> str:
    command = ["git", "-C", str(_ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
