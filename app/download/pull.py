"""A planned download, start to end: room first, then file after file, each verified."""

from __future__ import annotations

import hashlib
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import constants

from app.core.errors import ResourceError, UnsupportedError
from app.core.units import format_bytes
from app.download.file_plan import FilePlan
from app.download.places import Place
from app.download.progress import Meter
from app.download.transfer import Arrived, Transfer
from app.hub.repository import RemoteFile

# Left free: a volume that is full to the last byte breaks what else runs on it.
_SPARE_BYTES = 64 << 20


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


def pull(plan: FilePlan, place: Place, meter: Meter) -> PullResult:
    """Fetches what is missing; `meter` was made for `plan.num_bytes`.

    Before the first byte it raises ResourceError for a volume that is too small and
    UnsupportedError for a file too large to be sent; then what a transfer raises.
    """
    started = time.monotonic()
    _check_sizes(plan)
    check_room(plan, place)
    transfer = Transfer(place.client, place.repository, meter)
    arrived = [_fetch(file, place, transfer) for file in plan.files]
    files = tuple(
        PulledFile(file.path, place.path(file), file.num_bytes, one.sha256)
        for file, one in zip(plan.files, arrived, strict=True)
    )
    path = next((f.path for f in files if f.name == plan.main), place.folder)
    resumed = sum(one.resumed_bytes for one in arrived)
    return PullResult(path, files, time.monotonic() - started, resumed)


def check_room(plan: FilePlan, place: Place) -> None:
    """ResourceError with both numbers when what is missing does not fit on the volume."""
    needed = sum(place.missing_bytes(file) for file in plan.files)
    volume = next(p for p in (place.folder, *place.folder.absolute().parents) if p.exists())
    free = shutil.disk_usage(volume).free
    if needed and needed + _SPARE_BYTES > free:
        raise ResourceError(
            f"The download needs {format_bytes(needed)} and {format_bytes(_SPARE_BYTES)} to spare; "
            f"{volume} has {format_bytes(free)} free."
        )


def _check_sizes(plan: FilePlan) -> None:
    limit = constants.MAX_HTTP_DOWNLOAD_SIZE
    for file in plan.files:
        if file.num_bytes > limit:
            raise UnsupportedError(
                f"{file.path} is larger than {format_bytes(limit)}, which hubs do not send in one "
                "piece; choose a model in shards."
            )


def _fetch(file: RemoteFile, place: Place, transfer: Transfer) -> Arrived:
    if place.has(file):
        transfer.meter.found(file.num_bytes)
        return Arrived(_sha256(file, place.path(file)), file.num_bytes)
    arrived = transfer.fetch(file, place.partial(file), place.lock(file))
    place.finish(file)
    return arrived


def _sha256(file: RemoteFile, path: Path) -> str:
    """The hub's own, for it was compared when the file came; of small files the file's."""
    return file.etag if file.is_sha256 else hashlib.sha256(path.read_bytes()).hexdigest()
