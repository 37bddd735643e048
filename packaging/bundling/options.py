"""What `python3 dev.py package` was asked for."""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bundling.tools import ROOT


@dataclass(frozen=True)
class Options:
    """`work` holds what later builds use again, `out` what is published."""

    is_for_windows: bool
    is_for_all: bool
    is_full: bool
    has_starter: bool
    has_cuda: bool
    has_smoke_test: bool
    has_archives: bool
    makes_locks: bool
    makes_table: bool
    work: Path
    out: Path
    version: str

    @property
    def suffix(self) -> str:
        """In the names of what is published."""
        return "-full" if self.is_full else ""


def parse(arguments: Sequence[str]) -> Options:
    """Exits with 2, as argparse does, for words that mean nothing."""
    parser = argparse.ArgumentParser(
        prog="python3 dev.py package",
        description="Builds and tries a bundle of the program for the system that runs.",
    )
    flag = parser.add_argument
    flag("--windows", action="store_true", help="on Linux: the bundle for Windows, under Wine")
    flag("--all", action="store_true", help="on Linux: for Linux, and as root also for Windows")
    flag("--full", action="store_true", help="with torch and transformers, for validation")
    flag("--no-starter", action="store_true", help="without the model of the first run")
    flag("--no-cuda", action="store_true", help="without the compiled kernels for cards")
    flag("--no-smoke", action="store_true", help="do not try the bundle")
    flag("--no-archives", action="store_true", help="the folder is enough")
    flag("--lock", action="store_true", help="only renew packaging/locks, from what is newest")
    flag("--table", action="store_true", help="only the sizes of what was built into docs")
    flag("--work", type=Path, default=ROOT / "build" / "package", metavar="DIR")
    flag("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    args = parser.parse_args(arguments)
    return Options(
        is_for_windows=args.windows,
        is_for_all=args.all,
        is_full=args.full,
        has_starter=not args.no_starter,
        has_cuda=not args.no_cuda,
        has_smoke_test=not args.no_smoke,
        has_archives=not args.no_archives,
        makes_locks=args.lock,
        makes_table=args.table,
        work=args.work.resolve(),
        out=args.out.resolve(),
        version=read_version(),
    )


def read_commit() -> str:
    """Of the tree that is built, with a `+` where it was changed since; empty outside of git."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def read_version() -> str:
    """The program's, without importing it."""
    text = (ROOT / "app" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    assert match is not None
    return match.group(1)
