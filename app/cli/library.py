"""`deepinfer list`, `rm`, `verify` and `library`: what is on this disk, and what becomes of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.options import Subparsers, add_command
from app.cli.output import print_json, print_note, print_pairs, print_table
from app.cli.progress import ProgressBar
from app.core.errors import AppError, CheckpointError, ResourceError
from app.core.library_events import ItemKind, LibraryItem, VerifyFinished
from app.core.paths import library_dir, settings_path
from app.core.settings_store import SettingsStore
from app.core.units import format_bytes
from app.hub.library import LibraryEntry, list_entries

if TYPE_CHECKING:
    from app.library.scan import Roots


def add_parsers(subparsers: Subparsers) -> None:
    """Adds the four."""
    parser = add_command(subparsers, "list", run_list, "List the models in the library.")
    parser.add_argument(
        "--all", action="store_true", help="also what can be converted, and what is unfinished"
    )
    parser = add_command(subparsers, "rm", run_remove, "Move a model to the trash.")
    _add_name(parser)
    parser.add_argument("--permanently", action="store_true", help="delete it for good")
    parser = add_command(
        subparsers, "verify", run_verify, "Read every byte of a model and compare its digests."
    )
    _add_name(parser)
    parser = add_command(subparsers, "library", run_library, "Where the library is, or move it.")
    parser.add_argument("--move", metavar="DIR", type=Path, help="move all models to this folder")


def run_list(args: argparse.Namespace) -> None:
    """Prints the entries, with --all everything that a scan finds."""
    if args.all:
        _list_all(args)
        return
    entries = list_entries(library_dir())
    if args.json:
        print_json([_entry_document(entry) for entry in entries])
    elif not entries:
        print_note(f"The library ({library_dir()}) is empty; `deepinfer convert` fills it.")
    else:
        rows = [(e.name, e.architecture, e.grid, _size(e), e.source_name) for e in entries]
        print_table(("NAME", "ARCHITECTURE", "BITS", "SIZE", "FROM"), rows)


def run_remove(args: argparse.Namespace) -> None:
    """Moves one item to the trash, or deletes it for good; raises AppError."""
    from app.library.find import find_item
    from app.library.removal import plan_removal, remove
    from app.library.trash import SystemTrash, TrashMissingError

    item = find_item(args.name, _roots())
    plan = plan_removal(item)
    try:
        remove(item, plan, None if args.permanently else SystemTrash())
    except TrashMissingError as error:
        sentence = f"{error.message} `--permanently` deletes it for good."
        raise ResourceError(sentence, detail=error.detail) from error
    if args.json:
        print_json({"removed": _document(item), "freed_bytes": plan.num_bytes})
    else:
        verb = "Deleted" if args.permanently else "Moved to the trash:"
        print_note(f"{verb} {item.name} ({format_bytes(plan.num_bytes)}).")


def run_verify(args: argparse.Namespace) -> None:
    """Prints what was compared; raises CheckpointError when a file is broken."""
    from app.library.find import find_item
    from app.library.verify import verify

    item, done = find_item(args.name, _roots()), 0
    with ProgressBar(f"verifying {item.name}") as bar:

        def tell(path: Path, num_bytes: int) -> None:
            nonlocal done
            done += num_bytes
            bar.update(done, item.size_bytes, path.name)

        result = verify(item, tell)
    if args.json:
        print_json(_verify_document(result))
    for reason in (*result.unchecked, *(broken.reason for broken in result.broken)):
        print_note(reason)
    if result.broken:
        raise CheckpointError(f"{item.name} is damaged: {len(result.broken)} of its files.")
    if not args.json:
        num_checked = result.num_files
        print_note(f"{num_checked} files ({format_bytes(result.num_bytes)}) are what they were.")


def run_library(args: argparse.Namespace) -> None:
    """Prints where the library is, or moves it; raises AppError."""
    from app.library.move import find_interrupted_target
    from app.library.scan import volume_space

    if args.move is not None:
        _move(args)
        return
    space, target = volume_space(library_dir()), find_interrupted_target()
    entries = list_entries(library_dir())
    total = sum(entry.total_bytes for entry in entries)
    if args.json:
        document = {"path": str(library_dir()), "models": len(entries), "total_bytes": total}
        print_json(document | {"free_bytes": space.free_bytes})
    else:
        pairs = [("folder", library_dir()), ("models", f"{len(entries)}, {format_bytes(total)}")]
        print_pairs([*pairs, ("free", format_bytes(space.free_bytes))])
    if target is not None:
        print_note(f"A move was interrupted; `deepinfer library --move {target}` goes on with it.")


def _move(args: argparse.Namespace) -> None:
    from app.library.move import forget_move, move_library

    source, target = library_dir(), args.move.absolute()
    with ProgressBar(f"moving to {target}") as bar:
        names = move_library(source, target, lambda name, done, all_: bar.update(done, all_, name))
    store = SettingsStore(settings_path())
    store.update(library_dir=str(target))
    if library_dir() != target:
        raise AppError(f"The models are in {target}, but the settings could not be saved.")
    forget_move()
    if args.json:
        print_json({"path": str(target), "moved": list(names)})
    else:
        print_note(f"{len(names)} models are in {target} now.")


def _list_all(args: argparse.Namespace) -> None:
    from app.library.scan import scan

    found = scan(_roots())
    items = sorted(found.items, key=lambda item: (list(ItemKind).index(item.kind), item.name))
    if args.json:
        print_json([_document(item) for item in items])
    elif not items:
        print_note("There is nothing on this disk yet; `deepinfer pull` fetches a model.")
    else:
        head = ("KIND", "NAME", "ARCHITECTURE", "GRID", "SIZE", "WHERE")
        print_table(head, [_row(item) for item in items])
        for item in items:
            if item.problem:
                print_note(f"{item.name}: {item.problem}")
    total = sum(one.item.size_bytes for one in found.free_up)
    if total and not args.json:
        print_note(f"{format_bytes(total)} could be freed; the window's Library page says how.")


def _row(item: LibraryItem) -> tuple[str, ...]:
    size = format_bytes(item.size_bytes)
    return item.kind, item.name, item.architecture, item.grid, size, str(item.path)


def _roots() -> Roots:
    from app.library.scan import Roots

    folders = SettingsStore(settings_path()).values.source_folders
    return Roots(library_dir(), tuple(Path(line) for line in folders.splitlines() if line))


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="as `deepinfer list --all` prints it")


def _size(entry: LibraryEntry) -> str:
    return format_bytes(entry.total_bytes)


def _entry_document(entry: LibraryEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "path": str(entry.path),
        "architecture": entry.architecture,
        "bits": entry.grid,
        "source_format": entry.source_format,
        "source_name": entry.source_name,
        "output_bytes": entry.total_bytes,
        "lossless": entry.is_lossless,
        "verified": entry.is_verified,
    }


def _document(item: LibraryItem) -> dict[str, object]:
    return {
        "kind": item.kind.value,
        "name": item.name,
        "path": str(item.path),
        "place": item.place.value,
        "architecture": item.architecture,
        "grid": item.grid,
        "size_bytes": item.size_bytes,
        "last_used": item.used_s,
        "last_used_is": item.last_use.value,
        "problem": item.problem,
        "busy": item.busy,
        "checkpoint": str(item.checkpoint) if item.checkpoint else None,
    }


def _verify_document(result: VerifyFinished) -> dict[str, object]:
    return {
        "name": result.item.name,
        "files": result.num_files,
        "bytes": result.num_bytes,
        "broken": [{"path": str(one.path), "reason": one.reason} for one in result.broken],
        "unchecked": list(result.unchecked),
    }
