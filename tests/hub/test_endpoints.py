"""Which hubs are asked, in which order, and how fast they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from huggingface_hub import constants

from app.core.errors import HubAccessError, HubSilentError, UsageError
from app.core.paths import settings_path
from app.core.settings import Settings
from app.core.settings_store import SettingsStore
from app.download.hubs import ask_in_turn, create_clients, read_settings
from app.hub.client import HubClient
from app.hub.endpoints import OFFICIAL, PUBLIC_MIRROR, asked, host_of, normalize, offered
from app.hub.probe import PROBE_BYTES, probe
from tests.hub.fake_hub import FakeHub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """With the repository that speed is measured by."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with FakeHub().running() as hub:
        hub.add("openai-community/gpt2", {"model.safetensors": bytes(4_000_000)})
        yield hub


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("hf-mirror.com", "https://hf-mirror.com"),
        (" https://Hub.Example/ ", "https://hub.example"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://corp.example/hub/", "https://corp.example/hub"),
    ],
)
def test_addresses_are_understood(typed: str, address: str) -> None:
    assert normalize(typed) == address


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "ftp://hub",
        "two words",
        "https://me:secret@hub",
        "https://",
        "https://h?x=1",
        "http://[h",
    ],
)
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a hub"):
        normalize(typed)


def test_hosts_are_told_apart() -> None:
    assert host_of("http://[h/x") == "http://[h"  # as HF_ENDPOINT may be
    hosts = [host_of(f"{scheme}://a:{port}") for scheme in ("http", "https") for port in (1, 2)]
    assert len(set(hosts)) == 4


def test_the_mirror_is_offered_and_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert asked(Settings()) == (OFFICIAL,)
    assert offered(Settings()) == (OFFICIAL, PUBLIC_MIRROR)


def test_the_environment_and_the_settings_are_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://corp.example/")
    assert asked(Settings()) == ("http://corp.example",)
    mirrors = Settings(hub_mirrors=f"{PUBLIC_MIRROR}, nonsense://x http://own.example")
    assert asked(mirrors) == ("http://corp.example", PUBLIC_MIRROR, "http://own.example")
    assert asked(Settings(hub_endpoint="hf-mirror.com")) == (PUBLIC_MIRROR,)


def test_settings_are_read_when_they_are_needed() -> None:
    SettingsStore(settings_path()).update(hub_endpoint="http://first", hub_mirrors="http://second")
    clients = create_clients("", read_settings())
    assert [client.base for client in clients] == ["http://first", "http://second"]
    assert create_clients("http://typed", read_settings()) == (HubClient("http://typed"),)


def test_the_next_one_answers_where_the_first_is_silent_but_not_where_it_refuses() -> None:
    clients = tuple(HubClient(f"http://{name}") for name in ("a", "b", "c"))

    def answer(client: HubClient) -> str:
        if client.base == "http://a":
            raise HubSilentError("nobody there")
        return client.base

    assert ask_in_turn(clients, answer) == ("http://b", clients[1:])

    def refuse(client: HubClient) -> str:
        raise HubAccessError(f"{client.base} wants a token")

    with pytest.raises(HubAccessError, match="http://a wants"):
        ask_in_turn(clients, refuse)


def test_speed_is_measured_with_a_megabyte(hub: FakeHub) -> None:
    found = probe(HubClient(hub.endpoint))
    assert found.problem == ""
    assert found.bytes_per_s > 0
    sent = sum(request.sent for request in hub.sent("model.safetensors"))
    assert PROBE_BYTES <= sent <= PROBE_BYTES + 1


def test_a_hub_that_is_not_there_has_no_speed(hub: FakeHub) -> None:
    assert "did not answer" in probe(HubClient("http://127.0.0.1:9")).problem
    hub.repos.clear()
    assert "no repository" in probe(HubClient(hub.endpoint)).problem
