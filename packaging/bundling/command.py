"""`python3 dev.py package`: which bundle is built, and how its end is told."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from bundling import linux, locks, windows
from bundling.options import parse
from bundling.tools import PackagingError, note


def package(arguments: Sequence[str]) -> int:
    """Builds; 1 and one sentence where something does not work, 2 for a wrong call."""
    try:
        options = parse(arguments)
    except SystemExit as ended:  # argparse has said why
        return int(ended.code or 0)
    options.work.mkdir(parents=True, exist_ok=True)
    options.out.mkdir(parents=True, exist_ok=True)
    started_s = time.monotonic()
    try:
        if options.makes_locks:
            locks.make_locks(options.work)
        elif sys.platform == "win32":
            windows.build_here(options)
        elif options.is_for_windows:
            windows.build_under_wine(options)
        else:
            linux.build(options)
    except PackagingError as error:
        sys.stderr.write(f"package: {error}\n")
        return 1
    note(f"done after {time.monotonic() - started_s:.0f} s; see {options.out}")
    return 0
