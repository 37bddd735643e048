"""The hub for a reference, and those that may stand in for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from app.core.errors import HubSilentError
from app.core.paths import settings_path
from app.core.settings import Settings
from app.core.settings_store import SettingsStore
from app.hub.client import HubClient
from app.hub.endpoints import asked

T = TypeVar("T")

_log = logging.getLogger(__name__)


def read_settings() -> Settings:
    """As they are now."""
    return SettingsStore(settings_path()).values


def create_clients(endpoint: str, settings: Settings) -> tuple[HubClient, ...]:
    """The hub that an address named, alone; else those of the settings, in their order."""
    if endpoint:
        return (HubClient(endpoint),)
    return tuple(HubClient(address) for address in asked(settings))


def ask_in_turn(
    clients: Sequence[HubClient], question: Callable[[HubClient], T]
) -> tuple[T, tuple[HubClient, ...]]:
    """The first answer, and the hubs from that one on. What a hub refuses, no other is asked for.

    Raises HubSilentError of the first hub where none answers.
    """
    errors: list[HubSilentError] = []
    for index, client in enumerate(clients):
        try:
            return question(client), tuple(clients[index:])
        except HubSilentError as error:
            _log.warning("%s: %s", client.base, error.message)
            errors.append(error)
    raise errors[0]
