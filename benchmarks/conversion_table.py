"""Source format x grid: what a conversion of the starter model costs, each in a fresh process.

Columns: exact?, largest relative error, perplexity and that of the source decoded densely, mean KL
between the two, bytes, seconds, peak memory. A lossless conversion must have the perplexity of its
source, which is measured beside it (`conversion_quality`). Sources that no tool here can make are
left out. DEEPINFER_BENCH_ROWS names a file that keeps the rows of every finished source: a run that
was interrupted goes on from there.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from app.converter.pipeline import convert
from benchmarks.conversion_quality import NUM_TOKENS, SourceQuality
from benchmarks.measure import command_line, named, own_home, print_json, run_json
from benchmarks.starter_sources import Maker, Workshop, makers

# Every source on its own grid; the other grids for the kinds of sources that they are made for.
_GRIDS = ("w8", "w4", "w3")
_REQUANTIZED = ("dense bf16 folder", "GGUF Q4_K_M")
_COPIED = ("lossless", "rel_err_max", "source_bytes", "output_bytes", "seconds", "peak_rss_bytes")
_ROUNDING = 5e-5  # relative: the same weights may be added up in another order

Row = dict[str, Any]


def measure(names: list[str]) -> list[Row]:
    """One row for each source and grid."""
    kept = _KeptRows(os.environ.get("DEEPINFER_BENCH_ROWS"))
    with own_home() as home:
        shop = Workshop(home)
        for name, maker in makers().items():
            if (not names or name in names) and name not in kept.sources:
                kept.add(name, _measure_source(name, maker, shop))
    return [row for rows in kept.sources.values() for row in rows]


class _KeptRows:
    """The rows of every finished source, in a file where one is named."""

    def __init__(self, path: str | None) -> None:
        self._path = Path(path) if path else None
        self.sources: dict[str, list[Row]] = {}
        if self._path and self._path.is_file():
            self.sources = json.loads(self._path.read_text(encoding="utf-8"))

    def add(self, name: str, rows: list[Row]) -> None:
        self.sources[name] = rows
        if self._path:
            self._path.write_text(json.dumps(self.sources, indent=1), encoding="utf-8")


def _measure_source(name: str, maker: Maker, shop: Workshop) -> list[Row]:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="deepinfer-bench-") as folder:
        source = maker(shop, Path(folder))
        if source is None:
            return []
        convert(source, Path(folder) / "dense", grid="dense")
        quality = SourceQuality(Path(folder) / "dense")
        grids = ("exact", *(_GRIDS if name in _REQUANTIZED else ()))
        rows = [_measure_grid(name, source, Path(folder), grid, quality) for grid in grids]
    sys.stderr.write(f"{name}: {time.monotonic() - started:.0f} s\n")
    return rows


def _measure_grid(name: str, source: Path, folder: Path, grid: str, quality: SourceQuality) -> Row:
    """A conversion counts as lossless by its bits; here it must also predict as its source does."""
    output = folder / f"to-{grid}"
    options = ("-o", str(output), "--grid", grid, "--json")
    report = run_json("-m", "app", "convert", str(source), *options)
    found = quality.compare(output)
    difference = abs(found.perplexity / quality.perplexity - 1)
    assert not report["lossless"] or difference < _ROUNDING, f"{name}: {difference:.2g}"
    return {
        "source": name,
        "grid": grid,
        **{key: report[key] for key in _COPIED},
        "perplexity": found.perplexity,
        "source_perplexity": quality.perplexity,
        "kl_mean": found.kl_mean,
        "top1_agreement": found.top1_agreement,
    }


def render(rows: list[Row]) -> str:
    """README's table, below what its figures are of."""
    note = (
        "One run each. Perplexity and KL on the first "
        f"{NUM_TOKENS} tokens of the bundled text, in float32."
    )
    head = (
        "| source | grid | exact | relative error | perplexity | of the source | KL | size | time "
        "| memory |"
    )
    lines = [
        f"| {row['source']} | {row['grid']} | {'yes' if row['lossless'] else 'no'} "
        f"| {row['rel_err_max']:.2g} | {row['perplexity']:.4f} "
        f"| {row['source_perplexity']:.4f} | {_nats(row['kl_mean'])} "
        f"| {row['source_bytes'] / 1e6:.0f} -> {row['output_bytes'] / 1e6:.0f} MB "
        f"| {row['seconds']:.1f} s | {row['peak_rss_bytes'] / 1e6:.0f} MB |"
        for row in rows
    ]
    return "\n".join([note, "", head, "|---" * 10 + "|", *lines])


def _nats(kl: float) -> str:
    """Below a millionth it is the rounding of sums."""
    return "< 1e-6" if kl < 1e-6 else f"{kl:.2g}"


if __name__ == "__main__":
    parser = command_line(__doc__)
    known = {name: name for name in makers()}
    parser.add_argument("sources", nargs="*", type=named(known), help="only these; all if none")
    print_json(measure(parser.parse_args().sources))
