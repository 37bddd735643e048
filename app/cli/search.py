"""`deepinfer search`: repositories of a hub by words of their names."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from app.cli.options import Subparsers, add_command, positive_int
from app.cli.output import print_json, print_note, print_table
from app.cli.pull import add_endpoint_option, endpoint_of

if TYPE_CHECKING:
    from app.hub.search import SearchHit

_MAX_HITS = 20


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `search`."""
    parser = add_command(subparsers, "search", run, "Look for models on a hub by their names.")
    parser.add_argument("words", metavar="WORDS", nargs="+", help="qwen 3 4b gguf")
    parser.add_argument(
        "--limit", type=positive_int, default=_MAX_HITS, help="at most so many (%(default)s)"
    )
    add_endpoint_option(parser)


def run(args: argparse.Namespace) -> None:
    """Prints what was found, the most downloaded first; raises AppError."""
    from app.download.hubs import ask_in_turn, create_clients, read_settings
    from app.hub.search import search

    words = " ".join(args.words)
    clients = create_clients(endpoint_of(args), read_settings())
    hits, (client, *_) = ask_in_turn(clients, lambda hub: search(hub, words, args.limit))
    if args.json:
        results = [asdict(hit) for hit in hits]
        print_json({"words": words, "endpoint": client.base, "results": results})
    elif hits:
        print_table(("REPOSITORY", "DOWNLOADS", "LIKES", "LICENCE", "UPDATED", ""), _rows(hits))
    else:
        print_note(f"{client.base} has no model with these words in its name.")


def _rows(hits: tuple[SearchHit, ...]) -> list[tuple[str, ...]]:
    return [
        (
            hit.repo_id,
            str(hit.downloads),
            str(hit.likes),
            hit.license or "-",
            hit.updated,
            "gated" if hit.is_gated else "",
        )
        for hit in hits
    ]
