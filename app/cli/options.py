"""Options that several commands share, and the types that argparse checks."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from typing import TypeAlias

from app.core.device import ACTIVATIONS, DEVICES, KV_DTYPES
from app.engine.request import SamplingParams

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Run = Callable[[argparse.Namespace], None]

_BYTE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def add_command(
    subparsers: Subparsers, name: str, run: Run, help_text: str
) -> argparse.ArgumentParser:
    """A subcommand with --json, whose `run` is called with the parsed arguments."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name, help=help_text, description=help_text, allow_abbrev=False
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document and nothing else on stdout"
    )
    parser.set_defaults(run=run)
    return parser


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """MODEL, as `app.cli.models.resolve_model` understands it."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a native folder, a name in the library, `starter`, or a source (converted first)",
    )


def add_device_option(parser: argparse.ArgumentParser) -> None:
    """--device."""
    parser.add_argument("--device", choices=DEVICES, default="auto", help="default: %(default)s")


def add_activations_option(parser: argparse.ArgumentParser) -> None:
    """--activations."""
    parser.add_argument(
        "--activations",
        choices=ACTIVATIONS,
        default=ACTIVATIONS[0],
        help="what a CPU multiplies weights with: int8 is fast, fp32 exact (default: %(default)s)",
    )


def add_kv_dtype_option(parser: argparse.ArgumentParser) -> None:
    """--kv-dtype."""
    parser.add_argument(
        "--kv-dtype",
        choices=KV_DTYPES,
        default=KV_DTYPES[0],
        help="how keys and values are cached: int8 takes half of fp16 (default: %(default)s)",
    )


def add_sampling_options(parser: argparse.ArgumentParser) -> None:
    """How a reply is drawn and where it ends, for `read_sampling`."""
    parser.add_argument(
        "--temperature",
        type=temperature,
        default=0.7,
        metavar="T",
        help="0 takes the likeliest token (default: %(default)s)",
    )
    parser.add_argument("--top-k", type=natural_int, default=0, metavar="K", help="0 is off")
    parser.add_argument("--top-p", type=float, default=1.0, metavar="P", help="1 is off")
    parser.add_argument("--min-p", type=float, default=0.0, metavar="P", help="0 is off")
    for name, off in (("repetition", 1.0), ("presence", 0.0), ("frequency", 0.0)):
        parser.add_argument(
            f"--{name}-penalty", type=float, default=off, metavar="X", help=f"{off:g} is off"
        )
    parser.add_argument("--seed", type=natural_int, metavar="N", help="same seed, same text")
    parser.add_argument("--max-tokens", type=positive_int, metavar="N")
    parser.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="ends a reply; repeatable"
    )


def read_sampling(args: argparse.Namespace) -> SamplingParams:
    """What `add_sampling_options` took."""
    return SamplingParams(
        temperature=args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        min_p=args.min_p,
        repetition_penalty=args.repetition_penalty,
        presence_penalty=args.presence_penalty,
        frequency_penalty=args.frequency_penalty,
        seed=args.seed,
        max_tokens=args.max_tokens,
        stop=tuple(args.stop),
    )


def positive_int(text: str) -> int:
    """At least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {value}")
    return value


def natural_int(text: str) -> int:
    """At least 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be at least 0, not {value}")
    return value


def temperature(text: str) -> float:
    """A finite number, at least 0."""
    value = float(text)
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be at least 0, not {text}")
    return value


def byte_count(text: str) -> int:
    """A positive number of bytes; K, M and G (also KiB, MB ...) count in 1024s."""
    match = re.fullmatch(r"([\d.]+)\s*([KMG]?)(i?B)?", text, re.IGNORECASE)
    try:
        value = float(match[1]) * _BYTE_UNITS[match[2].upper()] if match else 0
    except ValueError:
        value = 0
    if not 1 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of bytes like 3500M, not {text}")
    return int(value)
