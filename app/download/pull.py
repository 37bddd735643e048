"""A planned download, start to end: room first, then its files, each verified."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from huggingface_hub import constants

from app.core.errors import UnsupportedError
from app.core.jobs import check_cancelled
from app.core.room import Need, check_room
from app.core.sentence import Sentence
from app.core.units import format_bytes
from app.download.crew import run_all
from app.download.file_plan import FilePlan
from app.download.places import Place
from app.download.progress import FileState, Meter
from app.download.route import Route
from app.download.transfer import Arrived, Transfer
from app.hub.client import HubClient
from app.hub.repository import RemoteFile


@dataclass(frozen=True, slots=True)
class PulledFile:
    """A file of the result; `path` is its place on this disk."""

    name: str
    path: Path
    num_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PullResult:
    """`path` is what a conversion takes: the .gguf (its first shard), or the folder."""

    path: Path
    files: tuple[PulledFile, ...]
    seconds: float
    resumed_bytes: int


def pull(
    plan: FilePlan,
    place: Place,
    meter: Meter,
    *,
    others: Sequence[HubClient] = (),
    num_threads: int = 1,
    reserved: Sequence[Need] = (),
) -> PullResult:
    """Fetches what is missing, `num_threads` files at once; `meter` was made for `plan.num_bytes`.

    `others` are asked for the same bytes where the place's own hub does not answer any more;
    `reserved` room is left for what comes later. Before the first byte it raises ResourceError for
    a volume that is too small and UnsupportedError for a file too large to be sent; then what a
    transfer raises.
    """
    started = time.monotonic()
    _check_sizes(plan)
    check_room([need_of(plan, place), *reserved])
    for file in plan.files:
        meter.expect(file.path, file.num_bytes)
    route = Route((place.client, *others), place.repository, meter.tell)
    transfer = Transfer(route, place.repository, meter)
    jobs = [partial(_fetch_same, files, place, transfer) for files in _group(plan)]
    arrived = dict(pair for pairs in run_all(jobs, num_threads, "download") for pair in pairs)
    files = tuple(
        PulledFile(file.path, place.path(file), file.num_bytes, arrived[file].sha256)
        for file in plan.files
    )
    path = next((f.path for f in files if f.name == plan.main), place.folder)
    resumed = sum(one.resumed_bytes for one in arrived.values())
    return PullResult(path, files, time.monotonic() - started, resumed)


def need_of(plan: FilePlan, place: Place) -> Need:
    """What the missing files take."""
    missing = sum(place.missing_bytes(file) for file in plan.files)
    return Need(place.folder, missing, Sentence("the files"))


def _check_sizes(plan: FilePlan) -> None:
    limit = constants.MAX_HTTP_DOWNLOAD_SIZE
    for file in plan.files:
        if file.num_bytes > limit:
            raise UnsupportedError(
                "{file} is larger than {limit}, which hubs do not send in one piece; choose a "
                "model in shards.",
                file=file.path,
                limit=format_bytes(limit),
            )


def _group(plan: FilePlan) -> list[list[RemoteFile]]:
    """Files with the same bytes are one blob, which only one thread may write."""
    groups: dict[str, list[RemoteFile]] = {}
    for file in plan.files:
        groups.setdefault(file.etag, []).append(file)
    return list(groups.values())


def _fetch_same(
    files: Sequence[RemoteFile], place: Place, transfer: Transfer
) -> list[tuple[RemoteFile, Arrived]]:
    return [(file, _fetch(file, place, transfer)) for file in files]


def _fetch(file: RemoteFile, place: Place, transfer: Transfer) -> Arrived:
    check_cancelled()
    if place.has(file):
        place.name(file)
        transfer.meter.found(file.num_bytes, file.path)
        transfer.meter.enter(file.path, FileState.DONE)
        return Arrived(_sha256(file, place.path(file)), file.num_bytes)
    arrived = transfer.fetch(file, place.partial(file), place.lock(file))
    place.finish(file)
    return arrived


def _sha256(file: RemoteFile, path: Path) -> str:
    """The hub's own, for it was compared when the file came; of small files the file's."""
    return file.etag if file.is_sha256 else hashlib.sha256(path.read_bytes()).hexdigest()
