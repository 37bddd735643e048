"""Looks at hubs in a child process: search, verdicts, tokens, speed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.core.download_events import (
    EndpointProbed,
    FoundRepository,
    GridContext,
    OfferedModel,
    RepositoriesFound,
    RepositoryFound,
    TokenFailed,
    TokenTold,
)
from app.core.events import ErrorInfo, Event, JobFailed
from app.core.jobs import CancelToken, cancellable_by
from app.download.choice import best
from app.download.hubs import ask_in_turn, create_clients, read_settings
from app.download.look_up import look_up, parse_repository
from app.download.offer import Offer
from app.download.places import CachePlace
from app.hub.client import HubClient
from app.hub.probe import probe
from app.hub.search import search
from app.hub.token import TOKENS
from app.workers.child import Listener
from app.workers.commands import (
    AskToken,
    Command,
    ForgetToken,
    LookUpRepository,
    ProbeEndpoints,
    SaveToken,
    SearchRepositories,
    UseToken,
)
from app.workers.job_thread import JobThread


class HubService:
    """One question after another."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._jobs = JobThread(listener, "hub")
        self._cancel = CancelToken()

    def handle(self, command: Command) -> None:
        """Begins what was asked."""
        match command:
            case LookUpRepository():
                self._begin(partial(_look_up, command.reference))
            case SearchRepositories():
                self._begin(partial(_search, command.words))
            case ProbeEndpoints():
                for endpoint in command.endpoints:
                    self._begin(partial(_probe, endpoint))
            case UseToken():
                self._jobs.run_later(partial(TOKENS.use, command.endpoint, command.token))
            case AskToken() | SaveToken() | ForgetToken():
                self._begin(partial(_handle_token, command), partial(TokenFailed, command.endpoint))
            case _:
                raise TypeError(f"{type(command).__name__} is no command for a look at a hub.")

    def close(self) -> None:
        """Cancels and waits."""
        self._cancel.cancel()
        self._jobs.close()

    def _begin(self, job: partial[Event], failed: Callable[[ErrorInfo], Event] = JobFailed) -> None:
        def run() -> Event:
            with cancellable_by(self._cancel):
                self._cancel.check()
                return job()

        self._jobs.begin(run, failed)


def create_service(listener: Listener) -> HubService:
    """Without a job."""
    return HubService(listener)


def _search(words: str) -> Event:
    clients = create_clients("", read_settings())
    hits, (client, *_) = ask_in_turn(clients, lambda hub: search(hub, words))
    found = tuple(
        FoundRepository(
            hit.repo_id, hit.downloads, hit.likes, hit.license, hit.is_gated, hit.updated
        )
        for hit in hits
    )
    return RepositoriesFound(words, client.base, found)


def _look_up(text: str) -> Event:
    reference = parse_repository(text)
    looked = look_up(reference, read_settings())
    client, repository = looked.opened.client, looked.opened.repository
    offers = looked.offers
    place = CachePlace(client, repository)
    is_any = any(offer.status != "refused" for offer in offers)
    return RepositoryFound(
        reference=text,
        repo_id=repository.repo_id,
        revision=reference.revision,
        commit=repository.commit,
        license=repository.license,
        is_gated=repository.gated,
        downloads=repository.downloads,
        machine=next((offer.fit.note for offer in offers if offer.fit), ""),
        models=tuple(_to_model(offer, place) for offer in offers),
        best=offers.index(best(offers)) if is_any else None,
        endpoint=client.base,
        folder=place.folder,
    )


def _probe(endpoint: str) -> Event:
    found = probe(HubClient(endpoint))
    return EndpointProbed(found.endpoint, found.first_byte_s, found.bytes_per_s, found.problem)


def _handle_token(command: AskToken | SaveToken | ForgetToken) -> Event:
    match command:
        case SaveToken():
            origin = TOKENS.save(command.endpoint, command.token)
        case ForgetToken():
            origin = TOKENS.forget(command.endpoint)
        case AskToken():
            origin = TOKENS.find(command.endpoint)[1]
    return TokenTold(command.endpoint, origin.value)


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
        template=offer.template.value,
        contexts=tuple(
            GridContext(row.grid, row.max_context, row.max_context_int8_kv)
            for row in (offer.fit.rows if offer.fit else ())
        ),
    )
