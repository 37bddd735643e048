"""`deepinfer bench`: how fast a model loads, reads a prompt and decodes on this machine."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

from app.cli.models import resolve_model
from app.cli.options import (
    Subparsers,
    add_activations_option,
    add_command,
    add_device_option,
    add_kv_dtype_option,
    add_model_argument,
    positive_int,
)
from app.cli.output import print_json, print_pairs
from app.cli.progress import ProgressBar
from app.core.memory import peak_rss_bytes
from app.core.units import format_bytes
from app.engine.bench import measure_read_bandwidth, measure_speed
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.cuda.timing import DecodeTimes
from app.engine.loader import LoadedEngine, load_engine


@dataclass(frozen=True, slots=True)
class _Result:
    """Spec section 2's keys; bytes, seconds, tokens per second. The last ones of a card alone."""

    device: str
    load_s: float
    prefill_tok_s: float
    decode_tok_s: float
    weights_bytes: int
    kv_bytes: int
    peak_memory_bytes: int
    bandwidth_fraction: float
    precision: str
    kv_dtype: str
    vram_bytes: int | None = None
    copy_bytes_per_s: float | None = None
    read_bytes_per_s: float | None = None
    kernels: list[dict[str, Any]] | None = None


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `bench`."""
    parser = add_command(subparsers, "bench", run, "Measure a model's speed on this machine.")
    add_model_argument(parser)
    sizes = (("prompt", 512, "tokens read"), ("gen", 128, "tokens written"))
    for name, default, meaning in (*sizes, ("batch", 1, "requests at once")):
        parser.add_argument(
            f"--{name}",
            type=positive_int,
            default=default,
            metavar="N",
            help=f"{meaning} (default: %(default)s)",
        )
    add_device_option(parser)
    add_activations_option(parser)
    add_kv_dtype_option(parser)


def run(args: argparse.Namespace) -> None:
    """Measures and prints; raises AppError."""
    model_dir = resolve_model(args.model, args.device)
    length = args.prompt + args.gen
    loaded = load_engine(
        model_dir,
        args.device,
        max_model_len=length,
        num_slots=args.batch,
        activations=args.activations,
        kv_dtype=args.kv_dtype,
        shares_pages=False,
    )
    with closing(loaded):
        result = _measure(loaded, args)
    if args.json:
        measured = {name: value for name, value in asdict(result).items() if value is not None}
        print_json(measured)
    else:
        print_pairs(_to_rows(result))


def _measure(loaded: LoadedEngine, args: argparse.Namespace) -> _Result:
    with ProgressBar("measuring") as bar:
        speed = measure_speed(loaded.executor, args.prompt, args.gen, bar.update)
    memory = loaded.executor.memory_use()
    peak = peak_rss_bytes()  # before the yardstick below adds its own
    bytes_per_s = memory.weights_bytes * speed.decode_tok_s / args.batch
    times = loaded.executor.time_decoding() if isinstance(loaded.executor, CudaExecutor) else None
    yardstick = times.bandwidth.copy if times else measure_read_bandwidth()
    result = _Result(
        device=loaded.model.device,
        load_s=loaded.model.load_s,
        prefill_tok_s=speed.prefill_tok_s,
        decode_tok_s=speed.decode_tok_s,
        weights_bytes=memory.weights_bytes,
        kv_bytes=memory.kv_bytes,
        peak_memory_bytes=peak,
        bandwidth_fraction=bytes_per_s / yardstick,
        precision=loaded.model.precision,
        kv_dtype=loaded.executor.kv_dtype_for(args.kv_dtype),
    )
    if times is None or loaded.card_watch is None:
        return result
    context_bytes = loaded.card_watch.sample(0).context_bytes
    result = replace(result, vram_bytes=memory.total_bytes + context_bytes)
    return _with_kernels(result, times)


def _with_kernels(result: _Result, times: DecodeTimes) -> _Result:
    kernels = [
        {
            "name": kernel.name,
            "launches": kernel.num_launches,
            "seconds": kernel.seconds,
            "share": kernel.seconds / times.step_s,
            "bandwidth_fraction": kernel.fraction(times.bandwidth.copy),
        }
        for kernel in times.kernels
    ]
    return replace(
        result,
        copy_bytes_per_s=times.bandwidth.copy,
        read_bytes_per_s=times.bandwidth.read,
        kernels=kernels,
    )


def _to_rows(result: _Result) -> list[tuple[str, str]]:
    return [
        ("device", f"{result.device}, {result.precision}"),
        ("load", f"{result.load_s:.2f} s"),
        ("prefill", f"{result.prefill_tok_s:.1f} tokens/s"),
        ("decode", f"{result.decode_tok_s:.1f} tokens/s"),
        ("weights", format_bytes(result.weights_bytes)),
        ("KV cache", format_bytes(result.kv_bytes)),
        ("peak memory", format_bytes(result.peak_memory_bytes)),
        ("of memory speed", f"{result.bandwidth_fraction:.0%}"),
        *_card_rows(result),
    ]


def _card_rows(result: _Result) -> list[tuple[str, str]]:
    """Of a card: its memory's speed, then each kind of kernel in a decode step."""
    copy, read, vram = result.copy_bytes_per_s, result.read_bytes_per_s, result.vram_bytes
    if copy is None or read is None or vram is None:
        return []
    speeds = f"copy {copy / 1e9:.0f}, read {read / 1e9:.0f}"
    rows = [
        (
            kernel["name"],
            f"{kernel['seconds'] * 1e6:.0f} us in {kernel['launches']} launches, "
            f"{kernel['share']:.0%} of the step, {kernel['bandwidth_fraction']:.0%} of the copy",
        )
        for kernel in result.kernels or ()
    ]
    return [
        ("of the card", f"{format_bytes(vram)}, with workspace and CUDA itself"),
        ("memory speed", f"{speeds} GB/s"),
        *rows,
    ]
