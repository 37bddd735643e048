"""Converting the starter model: seconds and peak memory of a fresh process, median of five."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import Figures, command_line, medians, own_home, print_json, run_json

_NUM_RUNS = 5


def measure() -> Figures:
    """seconds and peak_rss_bytes of `deepinfer convert`, as it reports them."""
    with own_home() as home:
        return medians([_convert(home / f"run-{number}") for number in range(_NUM_RUNS)])


def _convert(output: Path) -> Figures:
    report = run_json("-m", "app", "convert", "starter", "-o", str(output), "--json")
    assert report["lossless"], "the starter model converts bit for bit"
    return {name: float(report[name]) for name in ("seconds", "peak_rss_bytes")}


if __name__ == "__main__":
    command_line(__doc__).parse_args()
    print_json(measure())
