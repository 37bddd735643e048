"""Source format x grid: what a conversion of the starter model costs, each in a fresh process.

Columns: exact?, largest relative error, perplexity, mean KL against the source decoded densely,
bytes, seconds, peak memory. Sources that no tool here can make are left out. Names of sources as
arguments measure those alone.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import own_home, print_json, run_json
from benchmarks.starter_sources import Maker, makers

# Every source on its own grid; the other grids for the kinds of sources that they are made for.
_GRIDS = ("w8", "w4", "w3")
_REQUANTIZED = ("dense bf16 folder", "GGUF Q4_K_M")

Row = dict[str, Any]


def measure(names: list[str]) -> list[Row]:
    """One row for each source and grid."""
    rows = []
    with own_home():
        for name, maker in makers().items():
            if not names or name in names:
                rows += _measure_source(name, maker)
    return rows


def _measure_source(name: str, maker: Maker) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="deepinfer-bench-") as folder:
        source = maker(Path(folder))
        if source is None:
            return []
        grids = ("exact", *(_GRIDS if name in _REQUANTIZED else ()))
        return [_convert(name, source, Path(folder) / f"to-{grid}", grid) for grid in grids]


def _convert(name: str, source: Path, output: Path, grid: str) -> Row:
    options = ("-o", str(output), "--grid", grid, "--eval", "--json")
    report = run_json("-m", "app", "convert", str(source), *options)
    (evaluation,) = report["evaluations"]
    copied = ("lossless", "rel_err_max", "source_bytes", "output_bytes", "seconds")
    return {
        "source": name,
        "grid": grid,
        **{key: report[key] for key in (*copied, "peak_rss_bytes")},
        **{key: evaluation[key] for key in ("perplexity", "kl_mean", "top1_agreement")},
    }


def render(rows: list[Row]) -> str:
    """The table of README.md."""
    head = "| source | grid | exact | relative error | perplexity | KL | size | time | memory |"
    lines = [
        f"| {row['source']} | {row['grid']} | {'yes' if row['lossless'] else 'no'} "
        f"| {row['rel_err_max']:.2g} | {row['perplexity']:.4f} | {row['kl_mean']:.2g} "
        f"| {row['source_bytes'] / 1e6:.0f} -> {row['output_bytes'] / 1e6:.0f} MB "
        f"| {row['seconds']:.1f} s | {row['peak_rss_bytes'] / 1e6:.0f} MB |"
        for row in rows
    ]
    return "\n".join([head, "|---" * 9 + "|", *lines])


if __name__ == "__main__":
    print_json(measure(sys.argv[1:]))
