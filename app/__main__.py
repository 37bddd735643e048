"""The entry: a subcommand goes to the command line, a path or nothing opens the window."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from app.cli import COMMANDS
from app.core.frozen import give_streams, run_requested_module
from app.core.paths import home_dir
from app.core.probe import has_display
from app.core.single_instance import InstanceDoor

_CANCELLED = "deepinfer: cancelled.\n"
_NO_DISPLAY = "deepinfer: there is no display for a window; see `deepinfer --help` for commands.\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `deepinfer`; returns the exit code."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    if run_requested_module(args):
        return 0
    give_streams()
    multiprocessing.freeze_support()  # in a frozen program this call *is* a worker process
    if args[:1] == ["--self-test"]:
        return _test_itself(args[1:])
    return _open_window(args) if _wants_window(args) else _run_command(args)


def _wants_window(args: Sequence[str]) -> bool:
    """Nothing, or one existing path: a double click, a drag on the program, a file association."""
    if not args:
        return True
    is_word = args[0].startswith("-") or args[0] in COMMANDS
    return len(args) == 1 and not is_word and Path(args[0]).exists()


def _open_window(args: Sequence[str]) -> int:
    if not has_display():
        sys.stderr.write(_NO_DISPLAY)
        return 1
    path = Path(args[0]).absolute() if args else None
    door = InstanceDoor(home_dir())
    if not door.enter() and door.knock(path):
        return 0
    # Only now, so that neither the command line nor a second start pays for Qt.
    from app.gui import main as open_window

    return open_window(path, door)


def _test_itself(args: Sequence[str]) -> int:
    from app.self_test import main as test_itself

    return test_itself(Path(args[0]).absolute() if args else None)


def _run_command(args: Sequence[str]) -> int:
    # Importing takes as long as some commands, and NumPy makes a fault of its own of an interrupt.
    previous = signal.signal(signal.SIGINT, _leave)
    from app.cli.main import main as run_command

    signal.signal(signal.SIGINT, previous)
    return run_command(args)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.stderr.write(_CANCELLED)
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
