"""`deepinfer list` and `deepinfer rm`: the native checkpoints in the library."""

from __future__ import annotations

import argparse

from app.cli.options import Subparsers, add_command
from app.cli.output import print_json, print_note, print_table
from app.core.paths import library_dir
from app.core.units import format_bytes
from app.hub.library import LibraryEntry, list_entries, remove


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `list` and `rm`."""
    add_command(subparsers, "list", run_list, "List the models in the library.")
    parser = add_command(subparsers, "rm", run_remove, "Delete a model from the library.")
    parser.add_argument("name", metavar="NAME", help="as `deepinfer list` prints it")


def run_list(args: argparse.Namespace) -> None:
    """Prints the entries."""
    entries = list_entries(library_dir())
    if args.json:
        print_json([_to_document(entry) for entry in entries])
    elif not entries:
        print_note(f"The library ({library_dir()}) is empty; `deepinfer convert` fills it.")
    else:
        rows = [_to_row(entry) for entry in entries]
        print_table(("NAME", "ARCHITECTURE", "SIZE", "FROM"), rows)


def run_remove(args: argparse.Namespace) -> None:
    """Deletes one entry; raises AppError."""
    entry = remove(args.name, library_dir())
    if args.json:
        print_json({"removed": _to_document(entry)})
    else:
        print_note(f"Removed {entry.name} ({format_bytes(entry.total_bytes)}).")


def _to_row(entry: LibraryEntry) -> tuple[str, str, str, str]:
    return entry.name, entry.architecture, format_bytes(entry.total_bytes), entry.source_name


def _to_document(entry: LibraryEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "path": str(entry.path),
        "architecture": entry.architecture,
        "source_format": entry.source_format,
        "source_name": entry.source_name,
        "output_bytes": entry.total_bytes,
        "lossless": entry.is_lossless,
    }
