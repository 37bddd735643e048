"""How late the window's event loop is while the Library page looks at thousands of files.

The real window and its real worker; a hub's cache with many repositories, and a folder of models.
"""

from __future__ import annotations

import os
from pathlib import Path

from app.core.library_events import LibraryScanned
from app.hub.starter import require_starter
from benchmarks.lateness import Lateness
from benchmarks.measure import Figures, command_line, own_home, print_json
from benchmarks.window import WindowDriver

_NUM_REPOS, _NUM_SMALL_FILES = 250, 18
_HEAD_BYTES = 2 << 20
_REST_S = 5.0  # what this machine is like without a scan


def measure() -> dict[str, Figures]:
    """Percentiles in milliseconds, and how much there was to look at."""
    with own_home() as home:
        num_files = _fill(home / "hub")
        os.environ["HF_HUB_CACHE"] = str(home / "hub")
        with WindowDriver() as driver:
            driver.rest(1.0)
            with Lateness() as at_rest:
                driver.rest(_REST_S)
            return {"at rest": at_rest.figures(), "scan": _scan(driver) | {"files": num_files}}


def _scan(driver: WindowDriver) -> Figures:
    scans: list[LibraryScanned] = []
    driver.controllers.disk.scanned.connect(scans.append)
    with Lateness() as lateness:
        driver.window.show_page(driver.window.library_page)
        driver.wait_until(lambda: bool(scans and scans[-1].is_complete), "the scan")
    return lateness.figures() | {"items": len(scans[-1].items)}


def _fill(cache: Path) -> int:
    """Repositories of one model and small files each; returns the number of files."""
    head = _head(require_starter())
    for number in range(_NUM_REPOS):
        commit, repo = f"{number:040x}", cache / f"models--org--model-{number}"
        snapshot, blobs = repo / "snapshots" / commit, repo / "blobs"
        for folder in (snapshot, blobs, repo / "refs"):
            folder.mkdir(parents=True)
        (repo / "refs" / "main").write_text(commit)
        for position in range(_NUM_SMALL_FILES):
            blob = blobs / f"{position:040x}"
            blob.write_text("{}")
            (snapshot / f"file-{position}.json").symlink_to(blob)
        blob = blobs / f"{number:064x}"
        blob.write_bytes(head)
        (snapshot / f"Model-{number}-Q4_1.gguf").symlink_to(blob)
    return _NUM_REPOS * (_NUM_SMALL_FILES + 1)


def _head(path: Path) -> bytes:
    """The header of a real model, vocabulary included, without its weights: a damaged file."""
    with path.open("rb") as stream:
        return stream.read(_HEAD_BYTES)


if __name__ == "__main__":
    command_line(__doc__).parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    print_json(measure())
