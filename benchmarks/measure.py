"""Shared by the benchmarks: fresh processes in a home of their own, medians of several runs."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

Figures = dict[str, float]
Named = TypeVar("Named")


@contextmanager
def own_home() -> Iterator[Path]:
    """An empty `DEEPINFER_HOME` for everything started inside."""
    before = os.environ.get("DEEPINFER_HOME")
    with tempfile.TemporaryDirectory(prefix="deepinfer-bench-") as folder:
        os.environ["DEEPINFER_HOME"] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.pop("DEEPINFER_HOME")
            if before is not None:
                os.environ["DEEPINFER_HOME"] = before


def run_json(*arguments: str) -> dict[str, Any]:
    """The document that a fresh interpreter prints when run with these arguments."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def command_line(description: str | None) -> argparse.ArgumentParser:
    """What a benchmark is started with: its docstring as it stands, no option but --help yet."""
    return argparse.ArgumentParser(
        prog=f"python3 -m benchmarks.{Path(sys.argv[0]).stem}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def named(known: Mapping[str, Named]) -> Callable[[str], Named]:
    """The `type` of words that may be left out: argparse's `choices` refuse the empty list."""

    def find(name: str) -> Named:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return known[name]

    return find


def medians(runs: Sequence[Mapping[str, float]]) -> Figures:
    """The median of each figure over the runs."""
    return {name: median(run[name] for run in runs) for name in runs[0]}


def print_json(document: object) -> None:
    """The one document of a benchmark."""
    print(json.dumps(document, indent=2))
