"""One file from a hub to this disk: resumed, retried and verified."""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from filelock import FileLock, Timeout
from httpx2 import ConnectError, NetworkError, RemoteProtocolError, TimeoutException
from huggingface_hub import constants
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

from app.core.errors import (
    HubBusyError,
    HubSilentError,
    InUseError,
    InvalidSourceError,
    ResourceError,
)
from app.core.jobs import check_cancelled
from app.core.sentence import Sentence
from app.core.system_reason import FULL, refused
from app.core.units import format_bytes
from app.download.partial import PartialFile
from app.download.progress import FileState, Meter
from app.download.route import Route
from app.hub.client import HubClient
from app.hub.repository import RemoteFile, Repository

# What a cut connection or a killed process loses at most. huggingface_hub's own 10 MiB would make
# a connection that breaks every few megabytes never arrive. It reads this whenever it begins, on
# any thread, so it is set once and for all.
CHUNK_BYTES = 1 << 18
constants.DOWNLOAD_CHUNK_SIZE = CHUNK_BYTES

# Between two tries without a byte; where another hub could be asked, only the first.
_WAITS_S = (1.0, 2.0, 4.0, 8.0)
# A hub that is busy is waited for so long, and so often.
_LONGEST_WAIT_S = 120.0
_NAP_S = 0.1
_BROKEN = (ConnectError, TimeoutException, RemoteProtocolError, NetworkError)

_log = logging.getLogger(__name__)


class _SilentBar(tqdm):
    """huggingface_hub's bar, without the bar: `Meter` tells more."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options | {"disable": True})  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A file that is right. `resumed_bytes` of it were there before."""

    sha256: str
    resumed_bytes: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """Fetches files of one repository, from any thread."""

    route: Route
    repository: Repository
    meter: Meter

    def fetch(self, file: RemoteFile, partial: Path, lock: Path) -> Arrived:
        """Completes `partial`, alone by `lock`; wrong bytes are thrown away and fetched once more.

        Raises InvalidSourceError when they are wrong again or the hub refuses, ResourceError when
        the network or the disk gives up; what has arrived then stays.
        """
        with _locked(lock):
            if arrived := self._fetch(file, partial):
                return arrived
            _log.warning("%s arrived with wrong bytes and is fetched again", file.path)
            self.meter.tell(
                Sentence(
                    "{file} arrived with wrong bytes; it is fetched once more.", file=file.path
                )
            )
            if arrived := self._fetch(file, partial):
                return arrived
        raise InvalidSourceError(
            "{file} arrived twice with bytes that are not those that the hub lists; the hub's "
            "copy, or something on the way, is damaged.",
            file=file.path,
        )

    def _fetch(self, file: RemoteFile, partial: Path) -> Arrived | None:
        """None: what has arrived is not what the hub lists, and is thrown away."""
        with PartialFile(partial, file, self.meter) as target:
            self._complete(file, target)
            if target.is_right:
                self.meter.enter(file.path, FileState.DONE)
                return Arrived(target.sha256, target.num_found)
            self.meter.found(-target.num_bytes, file.path)
        partial.unlink()
        return None

    def _complete(self, file: RemoteFile, target: PartialFile) -> None:
        waits = self._waits()
        while target.num_bytes < file.num_bytes:
            client, before = self.route.current, target.num_bytes
            error = self._try(client, file, target)
            if error is None:
                return
            if target.num_bytes > before:
                waits = self._waits()
            wait = self._wait_after(error, waits)
            if wait is not None:
                _log.warning("%s: %r; next try in %.0f s", file.path, error, wait)
                _sleep(wait)
            elif self.route.leave(client, file):
                waits = self._waits()
            else:
                raise _given_up(file, error) from error

    def _waits(self) -> Iterator[float]:
        return iter(_WAITS_S[:1] if self.route.has_next else _WAITS_S)

    def _wait_after(self, error: Exception, waits: Iterator[float]) -> float | None:
        """How long until the next try at the same hub; None: not there."""
        wait = next(waits, None)
        if wait is None or not isinstance(error, HubBusyError):
            return wait
        if self.route.has_next or (error.wait_s or 0) > _LONGEST_WAIT_S:
            return None
        self.meter.tell(error.message)
        return max(wait, error.wait_s or 0)

    def _try(self, client: HubClient, file: RemoteFile, target: PartialFile) -> Exception | None:
        """One connection; returns what is worth another."""
        try:
            with client.explained(self.repository.repo_id, file.path):
                return self._get(client, file, target)
        except HubSilentError as error:
            return error
        except OSError as error:
            if error.errno in (*FULL, errno.EFBIG):
                raise _no_room(file, target, error) from error
            if error.errno is None:  # huggingface_hub: an answer shorter or longer than the file
                return error
            raise

    def _get(self, client: HubClient, file: RemoteFile, target: PartialFile) -> Exception | None:
        try:
            http_get(
                client.url(self.repository, file.path),
                cast(BinaryIO, target),
                resume_size=target.num_bytes,
                headers=client.headers(),
                expected_size=file.num_bytes,
                displayed_filename=file.path,
                tqdm_class=_SilentBar,
                _nb_retries=0,  # tries, waits and other hubs are this module's work
            )
        except _BROKEN as error:
            return error
        return None


def _sleep(seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        check_cancelled()
        time.sleep(min(left, _NAP_S))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two processes that write one file would spoil it; the lock of a killed one is free."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise InUseError(
            "Another process downloads the same file already.", detail=str(path)
        ) from error
    try:
        yield
    finally:
        lock.release()


def _no_room(file: RemoteFile, target: PartialFile, error: OSError) -> ResourceError:
    done = format_bytes(target.num_bytes)
    if error.errno in FULL:
        problem = Sentence("The disk is full after {done} of {file}", done=done, file=file.path)
    else:  # FAT32 ends at 4 GiB
        problem = Sentence(
            "The volume takes no file that is larger than {done}, as {file} is",
            done=done,
            file=file.path,
        )
    sentence = Sentence("{problem}; what has arrived is kept.", problem=problem)
    return refused(error, sentence)


def _given_up(file: RemoteFile, error: Exception) -> ResourceError:
    if isinstance(error, HubBusyError):
        return error
    return HubSilentError(
        "The connection for {file} breaks or stays silent; what has arrived is kept, and the same "
        "download goes on from there.",
        file=file.path,
        detail=repr(error),
    )
