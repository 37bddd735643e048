"""`deepinfer pull`: a model from a hub, judged before its weights are fetched."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.options import Subparsers, add_command
from app.cli.output import print_json, print_note, print_pairs, print_table
from app.cli.progress import ProgressBar
from app.core.errors import UnsupportedError, UsageError
from app.core.paths import library_dir
from app.core.settings import Settings
from app.core.units import format_bytes
from app.hub.endpoints import normalize
from app.hub.reference import HubReference

if TYPE_CHECKING:
    from app.core.room import Need
    from app.download.look_up import Looked, Opened
    from app.download.offer import Offer
    from app.download.progress import Meter, Progress
    from app.download.pull import PullResult
    from app.engine.fit import MachineFit
    from app.hub.repository import Repository

_TICK_S = 0.25


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `pull`."""
    parser = add_command(subparsers, "pull", run, "Fetch a model from a hub.")
    parser.add_argument(
        "reference", metavar="REPO[:FILE]", help="org/name, org/name:Q4_K_M, or an address"
    )
    parser.add_argument("--revision", metavar="R", help="a branch, a tag or a commit")
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="a plain folder (default: the Hugging Face cache)"
    )
    parser.add_argument(
        "--auto",
        action="store_true",
        help="of several models take the largest that leaves room for a conversation here",
    )
    add_endpoint_option(parser)


def add_endpoint_option(parser: argparse.ArgumentParser) -> None:
    """--endpoint."""
    parser.add_argument(
        "--endpoint",
        metavar="URL",
        help="the hub to ask, this time (default: the setting, HF_ENDPOINT, huggingface.co)",
    )


def endpoint_of(args: argparse.Namespace) -> str:
    """What --endpoint says, '' without it; raises UsageError for what is no address."""
    return normalize(args.endpoint) if args.endpoint else ""


def run(args: argparse.Namespace) -> None:
    """Judges, fetches and says where it is; raises AppError."""
    from app.download.hubs import read_settings
    from app.download.look_up import look_up

    settings, reference = read_settings(), _reference(args)
    looked = look_up(reference, settings)
    offer = _choose(looked, args)
    if offer.status == "refused":
        raise UnsupportedError(f"Nothing was fetched: {offer.reason}")
    _print_offer(offer, looked.opened.repository)
    result = _pull(looked.opened, offer, reference, args.to, settings)
    if args.json:
        print_json(_to_document(looked.opened.repository, result))
    else:
        _print(result)


def _reference(args: argparse.Namespace) -> HubReference:
    from app.download.look_up import parse_repository

    reference = parse_repository(args.reference)
    return replace(
        reference,
        revision=args.revision or reference.revision,
        endpoint=reference.endpoint or endpoint_of(args),
    )


def _choose(looked: Looked, args: argparse.Namespace) -> Offer:
    from app.download.choice import best

    repository, offers = looked.opened.repository, looked.offers
    if args.auto:
        return best(offers)
    if len(offers) == 1:
        return offers[0]
    commands = [_command(args, offer) for offer in offers]
    if args.json:
        print_json(_to_choices(repository, offers, commands))
    else:
        print_table(
            ("SIZE", "CONTEXT THAT FITS", "VERDICT", "COMMAND"),
            [
                (format_bytes(offer.plan.num_bytes), _context(offer), offer.status, command)
                for offer, command in zip(offers, commands, strict=True)
            ],
        )
    raise UsageError(
        f"{repository.repo_id} has {len(offers)} models to choose from; name one, or take --auto."
    )


def _command(args: argparse.Namespace, offer: Offer) -> str:
    revision = f" --revision {args.revision}" if args.revision else ""
    folder = f' --to "{args.to}"' if args.to else ""
    endpoint = f" --endpoint {args.endpoint}" if args.endpoint else ""
    reference = f"{args.reference}:{offer.plan.main}"
    quote = '"' if " " in reference else ""
    return f"deepinfer pull {quote}{reference}{quote}{revision}{folder}{endpoint}"


def _contexts(fit: MachineFit) -> str:
    """Of each grid, its own first."""
    return "; ".join(
        f"{row.grid} {row.max_context} tokens ({row.max_context_int8_kv} with an int8 KV cache)"
        for row in fit.rows
    )


def _context(offer: Offer) -> str:
    return "unknown" if offer.row is None else f"{offer.row.max_context} tokens"


def _print_offer(offer: Offer, repository: Repository) -> None:
    """On stderr, before the first byte."""
    size = format_bytes(offer.plan.num_bytes)
    print_note(f"{repository.repo_id}, {offer.plan.name}: {size}. {offer.reason}")
    if offer.fit is not None and offer.row is not None:
        print_note(f"Context that fits: {_contexts(offer.fit)}. {offer.fit.note}")
        print_note(f"Its conversion takes {format_bytes(offer.row.weights_bytes)} of disk more.")
    license_text = f"Licence {repository.license}" if repository.license else "No licence is named"
    gate = "; gated, so its terms must be accepted" if repository.gated else ""
    print_note(f"{license_text}; {repository.downloads} downloads last month{gate}.")


def _pull(
    opened: Opened,
    offer: Offer,
    reference: HubReference,
    folder: Path | None,
    settings: Settings,
) -> PullResult:
    from app.download.places import CachePlace, FolderPlace
    from app.download.progress import Meter
    from app.download.pull import pull

    meter = Meter(offer.plan.num_bytes)
    place = CachePlace(opened.client, opened.repository)
    target = FolderPlace(opened.client, opened.repository, folder) if folder else place
    try:
        with _shown(meter):
            result = pull(
                offer.plan,
                target,
                meter,
                others=opened.clients[1:],
                num_threads=settings.download_threads,
                reserved=() if folder else _conversion(offer),
            )
    except KeyboardInterrupt:
        print_note("What has arrived is kept; the same command goes on from there.")
        raise
    if folder is None:
        place.remember(reference.revision)
    return result


def _conversion(offer: Offer) -> tuple[Need, ...]:
    """What comes next; who names a folder of his own may have other plans."""
    from app.core.room import Need

    if offer.row is None:
        return ()
    return (Need(library_dir(), offer.row.weights_bytes, "its conversion"),)


@contextmanager
def _shown(meter: Meter) -> Iterator[None]:
    """Draws from a thread of its own, so that silence is shown, too."""
    ended = threading.Event()
    with ProgressBar("downloading") as bar:

        def show() -> None:
            told = ""
            while not ended.wait(_TICK_S):
                progress = meter.read()
                if progress.note != told:
                    told = progress.note
                    print_note(told)
                _draw(bar, progress)

        thread = threading.Thread(target=show, name="pull progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            _draw(bar, meter.read())


def _draw(bar: ProgressBar, progress: Progress) -> None:
    label = "stalled" if progress.is_stalled else "checking" if progress.is_checking else ""
    bar.update(progress.done_bytes, progress.total_bytes, _describe(progress), label)


def _describe(progress: Progress) -> str:
    from huggingface_hub import constants

    size = f"{format_bytes(progress.done_bytes)} of {format_bytes(progress.total_bytes)}"
    if progress.is_stalled:
        limit = constants.HF_HUB_DOWNLOAD_TIMEOUT
        silence = f"no byte for {progress.silent_s:.0f} s"
        return f"{size}, {silence}; after {limit} s the connection is made anew"
    if progress.is_checking:
        return f"{size}, reading what is here already"
    speed = f"{format_bytes(progress.bytes_per_s)}/s"
    return f"{size}, {speed}" + (f", {progress.eta_s:.0f} s left" if progress.eta_s else "")


def _to_choices(
    repository: Repository, offers: tuple[Offer, ...], commands: list[str]
) -> dict[str, Any]:
    return {
        "repo": repository.repo_id,
        "revision": repository.commit,
        "choices": [
            {
                "file": offer.plan.main,
                "bytes": offer.plan.num_bytes,
                "verdict": {"status": offer.status, "reason": offer.reason},
                "chat_template": offer.template.value,
                "fit": [asdict(row) for row in offer.fit.rows] if offer.fit else [],
                "command": command,
            }
            for offer, command in zip(offers, commands, strict=True)
        ],
    }


def _to_document(repository: Repository, result: PullResult) -> dict[str, Any]:
    return {
        "repo": repository.repo_id,
        "revision": repository.commit,
        "files": [
            {"path": file.name, "bytes": file.num_bytes, "sha256": file.sha256}
            for file in result.files
        ],
        "path": str(result.path),
        "seconds": result.seconds,
        "resumed_bytes": result.resumed_bytes,
    }


def _print(result: PullResult) -> None:
    resumed = f", {format_bytes(result.resumed_bytes)} of it here before"
    total = sum(file.num_bytes for file in result.files)
    print_pairs(
        [
            ("path", result.path),
            ("size", format_bytes(total) + (resumed if result.resumed_bytes else "")),
            ("time", f"{result.seconds:.1f} s"),
            ("next", f'deepinfer convert "{result.path}" -o DIR'),
        ]
    )
