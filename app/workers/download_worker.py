"""Downloads in a child process: a kill loses nothing that has arrived, and is a quick pause."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from app.core.download_events import (
    DownloadFinished,
    DownloadProgressed,
    OfferedModel,
    RepositoryFound,
)
from app.core.errors import UsageError
from app.core.events import Event
from app.core.jobs import CancelToken, cancellable_by
from app.download.file_plan import FilePlan, choose, list_choices
from app.download.offer import Offer, make_offers
from app.download.places import CachePlace
from app.download.progress import Meter, Progress
from app.download.pull import pull
from app.hub.client import HubClient
from app.hub.reference import HubReference, parse_reference
from app.hub.repository import Repository
from app.workers.child import Listener
from app.workers.commands import CancelJob, Command, DownloadModel, LookUpRepository
from app.workers.job_thread import JobThread

_TICK_S = 0.25


class DownloadService:
    """One look-up or download after another."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._jobs = JobThread(listener, "download")
        self._cancel = CancelToken()

    def handle(self, command: Command) -> None:
        """Begins a job, or cancels the one begun last."""
        match command:
            case LookUpRepository():
                self._begin(partial(_look_up, command.reference))
            case DownloadModel():
                self._begin(partial(self._download, command))
            case CancelJob():
                self._cancel.cancel()
            case _:
                raise TypeError(f"{command} is no command for a download.")

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
        reference = _parse(command.reference)
        client = HubClient(reference.endpoint)
        repository = client.repository(reference.repo_id, command.commit)
        plan = _plan(repository, command.main)
        place, meter = CachePlace(client, repository), Meter(plan.num_bytes)
        with self._told(meter):
            result = pull(plan, place, meter)
        place.remember(reference.revision)
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
    """Downloads, without a job."""
    return DownloadService(listener)


def _look_up(text: str) -> Event:
    reference = _parse(text)
    client = HubClient(reference.endpoint)
    repository = client.repository(reference.repo_id, reference.revision)
    wanted = reference.wanted
    plans = (choose(repository, wanted),) if wanted else list_choices(repository)
    offers = make_offers(client, repository, plans)
    place = CachePlace(client, repository)
    return RepositoryFound(
        repo_id=repository.repo_id,
        revision=reference.revision,
        commit=repository.commit,
        license=repository.license,
        is_gated=repository.gated,
        downloads=repository.downloads,
        machine=next((offer.fit.note for offer in offers if offer.fit), ""),
        models=tuple(_to_model(offer, place) for offer in offers),
    )


def _parse(text: str) -> HubReference:
    reference = parse_reference(text)
    if not isinstance(reference, HubReference):
        raise UsageError(f"{text} is not the name of a repository (org/name) or its address.")
    return reference


def _plan(repository: Repository, main: str) -> FilePlan:
    return choose(repository, main) if main else list_choices(repository)[0]


def _to_model(offer: Offer, place: CachePlace) -> OfferedModel:
    plan, row = offer.plan, offer.row
    missing = sum(place.missing_bytes(file) for file in plan.files)
    return OfferedModel(
        name=plan.name,
        main=plan.main,
        num_bytes=plan.num_bytes,
        found_bytes=plan.num_bytes - missing,
        is_refused=offer.status == "refused",
        reason=offer.reason,
        architecture=offer.architecture,
        grid=row.grid if row else "",
        max_context=row.max_context if row else None,
        converted_bytes=row.weights_bytes if row else None,
    )


def _to_event(progress: Progress) -> DownloadProgressed:
    return DownloadProgressed(
        progress.done_bytes,
        progress.total_bytes,
        progress.bytes_per_s,
        progress.silent_s,
        progress.is_stalled,
        progress.eta_s,
    )
