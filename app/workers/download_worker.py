"""Downloads in a child process: a kill loses nothing that has arrived, and is a quick pause."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from huggingface_hub import constants

from app.core.download_events import DownloadFinished, DownloadingFile, DownloadProgressed
from app.core.events import Event
from app.core.jobs import CancelToken, cancellable_by
from app.core.paths import library_dir
from app.core.room import Need
from app.core.sentence import Sentence
from app.download.hubs import read_settings
from app.download.look_up import open_repository, parse_repository, plan_of
from app.download.places import CachePlace
from app.download.progress import Meter, Progress
from app.download.pull import pull
from app.hub.token import TOKENS
from app.workers.child import Listener
from app.workers.commands import CancelJob, Command, DownloadModel, UseToken
from app.workers.job_thread import JobThread
from app.workers.priority import step_back

_TICK_S = 0.25


class DownloadService:
    """One download after another."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._jobs = JobThread(listener, "download")
        self._cancel = CancelToken()

    def handle(self, command: Command) -> None:
        """Begins a download, or cancels the one begun last."""
        match command:
            case DownloadModel():
                self._begin(partial(self._download, command))
            case UseToken():
                TOKENS.use(command.endpoint, command.token)
            case CancelJob():
                self._cancel.cancel()
            case _:
                raise TypeError(f"{type(command).__name__} is no command for a download.")

    def close(self) -> None:
        """Cancels and waits; what has arrived stays."""
        self._cancel.cancel()
        self._jobs.close()

    def _begin(self, job: partial[Event]) -> None:
        self._cancel = cancel = CancelToken()

        def run() -> Event:
            with cancellable_by(cancel):
                cancel.check()
                return job()

        self._jobs.begin(run)

    def _download(self, command: DownloadModel) -> Event:
        reference, settings = parse_repository(command.reference), read_settings()
        opened = open_repository(reference, settings, command.commit)
        plan = plan_of(opened.repository, command.main)
        place, meter = CachePlace(opened.client, opened.repository), Meter(plan.num_bytes)
        with self._told(meter):
            result = pull(
                plan,
                place,
                meter,
                others=opened.clients[1:],
                num_threads=settings.download_threads,
                reserved=(
                    Need(library_dir(), command.converted_bytes, Sentence("its conversion")),
                ),
            )
        place.remember(command.revision)
        return DownloadFinished(result.path, plan.num_bytes, result.resumed_bytes, result.seconds)

    @contextmanager
    def _told(self, meter: Meter) -> Iterator[None]:
        """Progress from a thread of its own, so that silence is told, too."""
        ended = threading.Event()

        def tell() -> None:
            while not ended.wait(_TICK_S):
                self._listener(_to_event(meter.read()))

        thread = threading.Thread(target=tell, name="download progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._listener(_to_event(meter.read()))


def create_service(listener: Listener) -> DownloadService:
    """Downloads, without a job; what arrives at full speed is hashed behind the window's work."""
    step_back()
    return DownloadService(listener)


def _to_event(progress: Progress) -> DownloadProgressed:
    return DownloadProgressed(
        progress.done_bytes,
        progress.total_bytes,
        progress.bytes_per_s,
        progress.silent_s,
        progress.is_stalled,
        progress.eta_s,
        files=tuple(
            DownloadingFile(file.path, file.done_bytes, file.total_bytes, file.state.value)
            for file in progress.files
        ),
        note=progress.note,
        is_checking=progress.is_checking,
        retry_after_s=float(constants.HF_HUB_DOWNLOAD_TIMEOUT),
    )
