"""Memory and speed of converting 7B- and 30B-A3B-shaped sources, files with holes, in processes.

More layers than 4 take longer, not more memory: a layer is gone once it is written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gguf.constants import GGMLQuantizationType

from benchmarks.measure import Figures, command_line, print_json, run_json
from benchmarks.sparse_models import QWEN3_30B_A3B, write_sparse_folder, write_sparse_gguf

CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Q4_K GGUF, exact": ("gguf", ()),
    "Q4_K GGUF, w4": ("gguf", ("--grid", "w4")),
    "bf16 folder, w4": ("folder", ("--grid", "w4")),
    "bf16 folder, dense": ("folder", ("--grid", "dense")),
    "bf16 folder of Qwen3-30B-A3B, one layer, w4": ("experts", ("--grid", "w4")),
}
_MAKERS: dict[str, Callable[[Path, int], Path]] = {
    "gguf": lambda folder, layers: write_sparse_gguf(
        folder / "model.gguf", GGMLQuantizationType.Q4_K, num_hidden_layers=layers
    ),
    "folder": lambda folder, layers: write_sparse_folder(
        folder / "model", num_hidden_layers=layers
    ),
    # 128 experts, 604 million weights: as much as three layers of the 7B shape.
    "experts": lambda folder, layers: write_sparse_folder(
        folder / "model", QWEN3_30B_A3B, num_hidden_layers=1
    ),
}


def measure(num_layers: int) -> dict[str, Figures]:
    """seconds, peak_rss_bytes, source_bytes, mb_per_s of each case."""
    return {name: _convert(kind, options, num_layers) for name, (kind, options) in CASES.items()}


def _convert(kind: str, options: tuple[str, ...], num_layers: int) -> Figures:
    with tempfile.TemporaryDirectory(prefix="deepinfer-bench-") as name:
        folder = Path(name)
        source = _MAKERS[kind](folder, num_layers)
        arguments = (str(source), "-o", str(folder / "out"), *options, "--json")
        return _figures(run_json("-m", "app", "convert", *arguments))


def _figures(report: dict[str, Any]) -> Figures:
    figures = {name: report[name] for name in ("seconds", "peak_rss_bytes", "source_bytes")}
    return figures | {"mb_per_s": report["source_bytes"] / report["seconds"] / 1e6}


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("num_layers", nargs="?", type=int, default=4)
    print_json(measure(parser.parse_args().num_layers))
