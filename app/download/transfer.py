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
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

from app.core.errors import InvalidSourceError, ResourceError
from app.core.units import format_bytes
from app.download.partial import PartialFile
from app.download.progress import Meter
from app.hub.client import HubClient
from app.hub.failures import explained
from app.hub.repository import RemoteFile, Repository

# What a cut connection or a killed process loses at most. huggingface_hub's own 10 MiB would make
# a connection that breaks every few megabytes never arrive.
CHUNK_BYTES = 1 << 18
# Without a byte between them; each follows what huggingface_hub itself tries.
_WAITS_S = (1.0, 2.0, 4.0, 8.0)
_GIVEN_UP = (ConnectError, TimeoutException, RemoteProtocolError)
_SERVER_ERROR = 500

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
    """Fetches files of one repository."""

    client: HubClient
    repository: Repository
    meter: Meter

    def fetch(self, file: RemoteFile, partial: Path, lock: Path) -> Arrived:
        """Completes `partial`, alone by `lock`; wrong bytes are thrown away and fetched once more.

        Raises InvalidSourceError when they are wrong again or the hub refuses, ResourceError when
        the network or the disk gives up; what has arrived then stays.
        """
        with _locked(lock):
            for _attempt in range(2):
                with PartialFile(partial, file, self.meter) as target:
                    self._complete(file, target)
                    if target.is_right:
                        return Arrived(target.sha256, target.num_found)
                    self.meter.found(-target.num_bytes)
                partial.unlink()
                _log.warning("%s arrived with wrong bytes and is fetched again", file.path)
        raise InvalidSourceError(
            f"{file.path} arrived twice with bytes that are not those that the hub lists; "
            "the hub's copy, or something on the way, is damaged."
        )

    def _complete(self, file: RemoteFile, target: PartialFile) -> None:
        waits = iter(_WAITS_S)
        while target.num_bytes < file.num_bytes:
            before = target.num_bytes
            error = self._try(file, target)
            if error is None:
                return
            if target.num_bytes > before:
                waits = iter(_WAITS_S)
            wait = next(waits, None)
            if wait is None:
                raise _broken(file, error) from error
            _log.warning("%s: %r; next try in %.0f s", file.path, error, wait)
            time.sleep(wait)

    def _try(self, file: RemoteFile, target: PartialFile) -> Exception | None:
        """One connection; returns what is worth another."""
        try:
            with explained(self.repository.repo_id, file.path, self.client.endpoint):
                return self._get(file, target)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise ResourceError(
                    f"The disk is full after {format_bytes(target.num_bytes)} of {file.path}; "
                    "what has arrived is kept.",
                    detail=repr(error),
                ) from error
            if error.errno is None:  # huggingface_hub: an answer shorter or longer than the file
                return error
            raise

    def _get(self, file: RemoteFile, target: PartialFile) -> Exception | None:
        try:
            with _small_chunks():
                http_get(
                    self.client.url(self.repository, file.path),
                    cast(BinaryIO, target),
                    resume_size=target.num_bytes,
                    headers=self.client.headers(),
                    expected_size=file.num_bytes,
                    displayed_filename=file.path,
                    tqdm_class=_SilentBar,
                )
        except HfHubHTTPError as error:
            if error.response.status_code < _SERVER_ERROR:
                raise
            return error
        except _GIVEN_UP as error:  # huggingface_hub has tried five times
            raise _broken(file, error) from error
        except NetworkError as error:
            return error
        return None


@contextmanager
def _small_chunks() -> Iterator[None]:
    before, constants.DOWNLOAD_CHUNK_SIZE = constants.DOWNLOAD_CHUNK_SIZE, CHUNK_BYTES
    try:
        yield
    finally:
        constants.DOWNLOAD_CHUNK_SIZE = before


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two processes that write one file would spoil it; the lock of a killed one is free."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ResourceError(
            "Another process downloads the same file already.", detail=str(path)
        ) from error
    try:
        yield
    finally:
        lock.release()


def _broken(file: RemoteFile, error: Exception) -> ResourceError:
    return ResourceError(
        f"The connection for {file.path} breaks or stays silent; what has arrived is kept, and "
        "the same download goes on from there.",
        detail=repr(error),
    )
