"""Source format x grid: what a conversion of the starter model costs, each in a fresh process.

Columns: exact?, largest relative error, perplexity and that of the source decoded densely, mean KL
between the two, bytes, seconds, peak memory. A lossless conversion must have the perplexity of its
source, which is measured beside it. Sources that no tool here can make are left out. Names of
sources as arguments measure those alone.
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
_MEASURED = ("perplexity", "kl_mean", "top1_agreement")
_ROUNDING = 5e-5  # relative: the same weights may be added up in another order

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
        rows = [_convert(name, source, Path(folder) / f"to-{grid}", grid) for grid in grids]
        dense = _convert(name, source, Path(folder) / "to-dense", "dense")
    return [_compare(row, dense["perplexity"]) for row in rows]


def _compare(row: Row, source_perplexity: float) -> Row:
    """A conversion counts as lossless by its bits; here it must also predict as its source does."""
    difference = abs(row["perplexity"] / source_perplexity - 1)
    assert not row["lossless"] or difference < _ROUNDING, f"{row['source']}: {difference:.2g}"
    return row | {"source_perplexity": source_perplexity}


def _convert(name: str, source: Path, output: Path, grid: str) -> Row:
    options = ("-o", str(output), "--grid", grid, "--eval", "--json")
    report = run_json("-m", "app", "convert", str(source), *options)
    (evaluation,) = report["evaluations"]
    copied = ("lossless", "rel_err_max", "source_bytes", "output_bytes", "seconds")
    return {
        "source": name,
        "grid": grid,
        **{key: report[key] for key in (*copied, "peak_rss_bytes")},
        **{key: evaluation[key] for key in _MEASURED},
    }


def render(rows: list[Row]) -> str:
    """The table of README.md."""
    head = (
        "| source | grid | exact | relative error | perplexity | of the source | KL | size | time "
        "| memory |"
    )
    lines = [
        f"| {row['source']} | {row['grid']} | {'yes' if row['lossless'] else 'no'} "
        f"| {row['rel_err_max']:.2g} | {row['perplexity']:.4f} "
        f"| {row['source_perplexity']:.4f} | {row['kl_mean']:.2g} "
        f"| {row['source_bytes'] / 1e6:.0f} -> {row['output_bytes'] / 1e6:.0f} MB "
        f"| {row['seconds']:.1f} s | {row['peak_rss_bytes'] / 1e6:.0f} MB |"
        for row in rows
    ]
    return "\n".join([head, "|---" * 10 + "|", *lines])


if __name__ == "__main__":
    print_json(measure(sys.argv[1:]))
