"""`deepinfer COMMAND`: parses, runs, and turns every error into one line and an exit code."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app import __version__
from app.cli import (
    bench,
    chat,
    convert,
    evaluate,
    export,
    inspect,
    library,
    pull,
    search,
    serve,
    validate,
)
from app.cli.output import print_note, use_utf8
from app.core.boundary import Guard
from app.core.errors import AppError, JobCancelledError, UsageError
from app.core.log import configure_logging
from app.core.paths import log_path

_logger = logging.getLogger(__name__)

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
_COMMANDS = (
    *(inspect, search, pull, validate, convert),
    *(chat, serve, evaluate, bench, library, export),
)


def create_parser() -> argparse.ArgumentParser:
    """All subcommands; each file adds its own, with `run` as the function to call."""
    parser = argparse.ArgumentParser(
        prog="deepinfer",
        description="Without a command, or with one file or folder, the window opens.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"deepinfer {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parsers(subparsers)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Runs one command. Returns 0, 1 (refused or failed; the reason on stderr) or 2 (usage)."""
    use_utf8()
    try:
        args = create_parser().parse_args(arguments)
    except SystemExit as ended:  # argparse has said why
        return int(ended.code or 0)
    configure_logging(_cli_log_path())
    return _run_guarded(args)


def _run_guarded(args: argparse.Namespace) -> int:
    with Guard("A command broke down", _tell_fault):
        return _run(args)
    return EXIT_FAILED


def _run(args: argparse.Namespace) -> int:
    try:
        args.run(args)
        sys.stdout.flush()
    except (KeyboardInterrupt, JobCancelledError):
        return _fail("cancelled.")
    except UsageError as error:
        return _fail(error.message, EXIT_USAGE)
    except AppError as error:
        _logger.error("%s: %s %s", type(error).__name__, error.message, error.detail)
        return _fail(error.message)
    except BrokenPipeError:
        # The reader has gone (`| head`); Python would complain once more while closing stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as error:
        _logger.exception("operating system")
        return _fail(f"{error.filename or 'system'}: {error.strerror or error}")
    return EXIT_OK


def _tell_fault(error: Exception) -> None:
    _fail(f"internal error: {str(error) or type(error).__name__}; see {_cli_log_path()}")


def _cli_log_path() -> Path:
    return log_path().with_name("cli.log")


def _fail(reason: str, code: int = EXIT_FAILED) -> int:
    print_note(f"deepinfer: {' '.join(reason.split())}")
    return code
