"""`python3 dev.py package`: which bundle is built, and how its end is told."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence

from bundling import linux, locks, release_table, windows
from bundling.options import Options, parse
from bundling.programs import ensure_programs, programs_for
from bundling.tools import PackagingError, note


def package(arguments: Sequence[str], install: Callable[[list[str]], object]) -> int:
    """Builds; 1 and one sentence where something does not work, 2 for a wrong call. `install` is
    given Debian's packages of programs that are missing."""
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
        elif options.makes_table:
            release_table.write_release_table(options)
        else:
            ensure_programs(programs_for(options), install)
            _build(options)
    except PackagingError as error:
        sys.stderr.write(f"package: {error}\n")
        return 1
    note(f"done after {time.monotonic() - started_s:.0f} s; see {options.out}")
    return 0


def _build(options: Options) -> None:
    """One bundle, or for `--all` each that can be built here; Windows is compared with Linux."""
    if sys.platform == "win32":
        windows.build_here(options)
    elif options.is_for_windows:
        windows.build_under_wine(options)
    else:
        linux.build(options)
        if options.is_for_all and os.geteuid() == 0:
            windows.build_under_wine(options)
