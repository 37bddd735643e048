"""Everything that only a card can show, in one command of less than eight minutes.

    python -m benchmarks.gpu                       writes benchmarks/results/gpu-<card>.{json,md}
    python -m benchmarks.gpu --launcher host --tiny    the same code without a card; no figures

Copy and read bandwidth; each kernel of real shapes beside them; tokens a second of models with
random weights; that a graph does what its launches do one by one; 64 greedy tokens of the starter
model against the cpu executor's with float32; 20 times loading and unloading.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from app.core.boundary import Guard
from app.core.errors import AppError
from app.core.units import format_bytes
from app.engine.executors.cuda.launcher import Launcher
from app.engine.executors.factory import create_launcher
from benchmarks.gpu_checks import check_graph, check_greedy, check_leaks
from benchmarks.gpu_report import to_markdown
from benchmarks.gpu_speed import measure_matrix, measure_model, real_models, tiny_models
from benchmarks.measure import command_line

_RESULTS = Path(__file__).parent / "results"
_BUDGET_S = 450.0
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """What the parts need: how a launcher is made, and whether shapes are tiny."""

    create_launcher: Callable[[], Launcher]
    is_tiny: bool


def main() -> int:
    """Writes both reports; 1 if a part failed, or without a card."""
    args = _parse()
    run = Run(_host_launcher() if args.launcher == "host" else create_launcher, args.tiny)
    try:
        document = measure(run, is_card=args.launcher == "cupy")
    except AppError as error:
        print(error.message, file=sys.stderr)
        return 1
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / f"gpu-{document['card'].replace(' ', '-').lower()}.json"
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(to_markdown(document), encoding="utf-8")
    print(path.with_suffix(".md").read_text(encoding="utf-8"))
    return int(any("failed" in part for part in document["parts"].values()))


def measure(run: Run, is_card: bool) -> Figures:
    """All parts, as far as time allows; what fails is told and does not stop the others.

    Raises ResourceError without a card, and MissingExtraError without CuPy.
    """
    started_s = time.monotonic()
    launcher = run.create_launcher()
    document: Figures = {
        "card": launcher.name,
        "is_card": is_card,
        "num_multiprocessors": launcher.num_multiprocessors,
        "memory": format_bytes(launcher.memory().total_bytes),
        "system": platform.platform(),
        "commit": _commit(),
        "parts": {},
    }
    launcher.close()
    for name, part in _parts(run).items():
        begun_s = time.monotonic()
        if begun_s - started_s > _BUDGET_S:
            document["parts"][name] = {"skipped": "no time was left"}
            continue
        figures = _attempt(part)
        document["parts"][name] = {**figures, "wall_s": time.monotonic() - begun_s}
    document["wall_s"] = time.monotonic() - started_s
    return document


def _parts(run: Run) -> dict[str, Callable[[], Figures]]:
    parts: dict[str, Callable[[], Figures]] = {
        "graph": lambda: check_graph(run.create_launcher, run.is_tiny),
        "greedy": lambda: check_greedy(run.create_launcher, run.is_tiny),
    }
    parts["large matrix"] = lambda: measure_matrix(run.create_launcher, run.is_tiny)
    for model in tiny_models() if run.is_tiny else real_models():
        parts[model.name] = lambda model=model: measure_model(  # type: ignore[misc]
            model, run.create_launcher, run.is_tiny
        )
    parts["leaks"] = lambda: check_leaks(run.create_launcher, run.is_tiny)
    return parts


def _attempt(part: Callable[[], Figures]) -> Figures:
    """What a part found, or why it did not: on the first card of its kind anything may come."""
    figures: Figures = {}
    with Guard("A part failed", lambda error: figures.update(_describe(error))):
        figures.update(part())
    return figures


def _describe(error: Exception) -> Figures:
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, AppError):
        return {"failed": error.message, "detail": error.detail, "trace": trace}
    return {"failed": f"{type(error).__name__}: {error}", "trace": trace}


def _host_launcher() -> Callable[[], Launcher]:
    """The fibers of the tests."""
    kind: Callable[[], Launcher] = import_module("tests.kernels.host_launcher").HostLauncher
    return kind


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _parse() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--launcher", choices=("cupy", "host"), default="cupy")
    parser.add_argument("--tiny", action="store_true", help="shapes that fibers can run")
    parser.add_argument("--out", type=Path, default=_RESULTS, metavar="DIR")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
