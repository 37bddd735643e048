"""Options that several commands share, and the types that argparse checks."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TypeAlias

from app.core.device import ACTIVATIONS, DEVICES, KV_DTYPES

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
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a number of bytes like 3500M, not {text}")
    return int(value)
