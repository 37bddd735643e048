"""A reference looked at: which hub answers, what the repository holds, what of it runs here."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.errors import UsageError
from app.core.settings import Settings
from app.download.file_plan import FilePlan, choose, list_choices
from app.download.hubs import ask_in_turn, create_clients
from app.download.offer import Offer, make_offers
from app.hub.client import HubClient
from app.hub.reference import HubReference, parse_reference
from app.hub.repository import Repository


@dataclass(frozen=True, slots=True)
class Opened:
    """A repository and the hubs for it; the first one gave the list of its files."""

    clients: tuple[HubClient, ...]
    repository: Repository

    @property
    def client(self) -> HubClient:
        """The hub that answered."""
        return self.clients[0]


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found."""

    opened: Opened
    offers: tuple[Offer, ...]


def parse_repository(text: str) -> HubReference:
    """A reference to a repository; raises UsageError for words to search."""
    reference = parse_reference(text)
    if not isinstance(reference, HubReference):
        raise UsageError(
            "{text} is not the name of a repository (org/name); `deepinfer search {query}` looks "
            "for one.",
            text=text,
            query=reference.text,
        )
    return reference


def open_repository(reference: HubReference, settings: Settings, revision: str = "") -> Opened:
    """Lists it at a revision, '' for the reference's own; the first hub that answers counts."""
    clients = create_clients(reference.endpoint, settings)
    at = revision or reference.revision
    repository, rest = ask_in_turn(clients, lambda hub: hub.repository(reference.repo_id, at))
    return Opened(rest, repository)


def look_up(reference: HubReference, settings: Settings) -> Looked:
    """Judges what the repository offers, or what of it is wanted, before a byte of its weights."""
    opened = open_repository(reference, settings)
    repository, wanted = opened.repository, reference.wanted
    plans = (choose(repository, wanted),) if wanted else list_choices(repository)
    return Looked(opened, make_offers(opened.client, repository, plans))


def plan_of(repository: Repository, main: str) -> FilePlan:
    """The plan with this file to open, '' for the folder."""
    return choose(repository, main) if main else list_choices(repository)[0]
