"""The figures of benchmarks/gpu.py as Markdown, goals beside them."""

from __future__ import annotations

from typing import Any

from app.core.units import format_bytes

_CHECKS = {"graph": "graph and launches one by one", "greedy": "greedy tokens", "leaks": "leaks"}
# Tokens a second on the reference card, an RTX 3050 Laptop of 192 GB/s, and the predecessor's.
_GOALS = {"Qwen2.5-3B w4": (80, 45.4), "Qwen2.5-7B w3w4": (45, 25.5)}
_CAUSES = {
    "taken_bytes": "together",
    "weights_bytes": "weights",
    "kv_bytes": "KV cache",
    "workspace_bytes": "workspace",
}
_MATRIX = "large matrix"
_LARGE_BYTES = 10_000_000  # a matrix; what the goals for kernels are about
_LARGE_GOAL = 0.85


def to_markdown(document: dict[str, Any]) -> str:
    """The whole report."""
    lines = [f"# {document['card']}", "", _place(document), ""]
    if not document["is_card"]:
        lines += [
            "**Not from a card**: kernels ran on the CPU's fibers; no figure means anything.",
            "",
        ]
    parts = document["parts"]
    lines += ["| check | result |", "|---|---|"]
    lines += [f"| {label} | {_verdict(parts[name])} |" for name, label in _CHECKS.items()]
    for name, part in parts.items():
        if name == _MATRIX:
            lines += ["", f"## {name}", "", _matrix_line(part)]
        elif name not in _CHECKS:
            lines += ["", f"## {name}", "", *_model_lines(name, part)]
    return "\n".join(lines) + "\n"


def _place(document: dict[str, Any]) -> str:
    return (
        f"{document['num_multiprocessors']} multiprocessors, {document['memory']}; "
        f"{document['system']}; commit {document['commit']}; {document['wall_s']:.0f} s."
    )


def _verdict(part: dict[str, Any]) -> str:
    if "failed" in part or "skipped" in part:
        return _unfinished(part)
    facts = {key: value for key, value in part.items() if key not in ("is_equal", "wall_s")}
    told = ", ".join(f"{key} {value:,}" for key, value in facts.items())
    return f"{'passed' if part['is_equal'] else 'FAILED'}: {told}"


def _unfinished(part: dict[str, Any]) -> str:
    return f"failed: {part['failed']}" if "failed" in part else f"not run: {part['skipped']}"


def _model_lines(name: str, part: dict[str, Any]) -> list[str]:
    if "failed" in part or "skipped" in part:
        return [_unfinished(part)]
    goal, before = _GOALS.get(name, (None, None))
    taken = ", ".join(f"{label} {format_bytes(part[key])}" for key, label in _CAUSES.items())
    aim = f" (RTX 3050 Laptop: goal {goal}, predecessor {before})" if goal else ""
    return [
        f"- decode {part['decode_tok_s']:.1f} tokens/s{aim}, {part['bandwidth_fraction']:.0%} of "
        f"the copy's speed; its kernels alone take {part['step_of_kernels_s'] * 1e3:.2f} ms",
        f"- prefill {part['prefill_tok_s']:.0f} tokens/s, the prompt in {part['prefill_s']:.3f} s",
        f"- memory: copy {part['copy_bytes_per_s'] / 1e9:.0f} GB/s, "
        f"read {part['read_bytes_per_s'] / 1e9:.0f} GB/s",
        f"- taken: {taken}",
        "",
        "| kernel | launches | us | of the step | of the copy | goal |",
        "|---|---|---|---|---|---|",
        *(_kernel_line(kernel, part["step_of_kernels_s"]) for kernel in part["kernels"]),
    ]


def _matrix_line(part: dict[str, Any]) -> str:
    if "failed" in part or "skipped" in part:
        return _unfinished(part)
    return (
        f"{part['shape']} at 4 bits, {part['num_bytes'] / 1e6:.0f} MB: "
        f"{part['bandwidth_fraction']:.0%} of the copy's speed (H200: 85 % must, 90 % aim); eight "
        f"tokens take {part['batch_8']:.2f} times as long as one (goal 1.15)."
    )


def _kernel_line(kernel: dict[str, Any], step_s: float) -> str:
    is_large = kernel["num_bytes"] / kernel["num_launches"] >= _LARGE_BYTES
    goal = f"{_LARGE_GOAL:.0%}" if is_large else ""
    fraction = f"{kernel['bandwidth_fraction']:.0%}" if kernel["num_bytes"] else ""
    return (
        f"| {kernel['name']} | {kernel['num_launches']} | {kernel['seconds'] * 1e6:.0f} | "
        f"{kernel['seconds'] / step_s:.0%} | {fraction} | {goal} |"
    )
