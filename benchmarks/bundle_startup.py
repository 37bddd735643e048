"""From the start of the frozen program to the first paint of its window: the bundle for Linux,
under Xvfb, as `dev.py package` measures it. DEEPINFER_BUNDLE names one that lies elsewhere.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import command_line, print_json

_ROOT = Path(__file__).resolve().parents[1]


def find_bundle() -> Path | None:
    """The folder of the program's two executables; None where none was built."""
    named = os.environ.get("DEEPINFER_BUNDLE")
    folders = (_ROOT / "build" / "package").glob("*-linux-x86_64/usr/lib/DeepInfer")
    found = [Path(named)] if named else sorted(folders)
    return next((path for path in found if (path / "deepinfer-desktop").is_file()), None)


def is_possible() -> bool:
    """Whether there are a bundle and a screen for it."""
    return find_bundle() is not None and shutil.which("Xvfb") is not None


def measure() -> dict[str, Any]:
    """`median_s`, `cpu_s`, `runs_s` and `load`: see `bundling.smoke.measure_first_paint`."""
    sys.path.append(str(_ROOT / "packaging"))
    from bundling.smoke import measure_first_paint

    bundle = find_bundle()
    assert bundle is not None
    with tempfile.TemporaryDirectory(prefix="deepinfer-bench-") as home:
        return measure_first_paint(bundle, Path(home))


if __name__ == "__main__":
    command_line(__doc__).parse_args()
    print_json(measure())
