"""What a hub may answer, each as one sentence with the page to open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from app.core.errors import AppError, InvalidSourceError, ResourceError
from app.download.file_plan import list_choices
from app.download.offer import make_offers
from app.download.places import CachePlace
from app.hub.client import HubClient
from tests.hub.fake_hub import FakeHub

REPO = "org/name"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A GGUF file and a small one."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with FakeHub().running() as hub:
        hub.add(REPO, {"m.gguf": b"GGUF", "config.json": b"{}"}, gated="manual")
        yield hub


GATED = {"X-Error-Code": "GatedRepo"}


@pytest.mark.parametrize(
    ("status", "headers", "body", "words"),
    [
        (401, GATED, "Access is restricted", ("gated: accept", "{hub}/org/name", "HF_TOKEN")),
        (403, GATED, "Access is restricted", ("gated: accept", "{hub}/org/name", "HF_TOKEN")),
        (401, {}, "Invalid credentials in Authorization header", ("revoked", "/settings/tokens")),
        (403, {}, "Forbidden", ("refuses", "{hub}/org/name", "/settings/tokens")),
        (404, {"X-Error-Code": "EntryNotFound"}, "Entry not found", ("has no m.gguf",)),
        (429, {"Retry-After": "77"}, "Too many", ("in 77 seconds",)),
        (500, {}, "Oops", ("answered 500", "{hub}/org/name")),
    ],
)
def test_refusals_of_a_file(
    hub: FakeHub, status: int, headers: dict[str, str], body: str, words: tuple[str, ...]
) -> None:
    hub.faults.status["m.gguf"] = (status, headers, body)
    client = HubClient(hub.endpoint)
    repository = client.repository(REPO)
    with pytest.raises((InvalidSourceError, ResourceError)) as refused:
        make_offers(client, repository, list_choices(repository))
    _check(refused.value, hub, words)


@pytest.mark.parametrize(
    ("status", "headers", "body", "words"),
    [
        (401, {}, "Invalid credentials in Authorization header", ("revoked", "/settings/tokens")),
        (403, {}, "Forbidden", ("without a token", "/settings/tokens")),
        (429, {"Retry-After": "5"}, "Too many", ("in 5 seconds",)),
        (502, {}, "Bad gateway", ("answered 502",)),
    ],
)
def test_refusals_of_the_list(
    hub: FakeHub, status: int, headers: dict[str, str], body: str, words: tuple[str, ...]
) -> None:
    hub.faults.status["api"] = (status, headers, body)
    with pytest.raises((InvalidSourceError, ResourceError)) as refused:
        HubClient(hub.endpoint).repository(REPO)
    _check(refused.value, hub, words)


def _check(error: AppError, hub: FakeHub, words: tuple[str, ...]) -> None:
    assert "\n" not in error.message
    for word in words:
        assert word.format(hub=hub.endpoint) in error.message


def test_unknown_names(hub: FakeHub, tmp_path: Path) -> None:
    client = HubClient(hub.endpoint, tmp_path)
    with pytest.raises(InvalidSourceError, match="no repository org/nothing, or it is private"):
        client.repository("org/nothing")
    with pytest.raises(InvalidSourceError, match="no such revision"):
        client.repository(REPO, "v9")
    with pytest.raises(InvalidSourceError, match=r"has no nothing\.json"):
        client.small_file(REPO, "nothing.json")


def test_a_hub_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    client = HubClient("http://127.0.0.1:9", tmp_path)
    with pytest.raises(ResourceError, match=r"did not answer .*127\.0\.0\.1:9/org/name"):
        client.repository(REPO)


def test_a_file_of_a_hub_that_is_not_there_is_one_quick_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """huggingface_hub alone would try for half a minute, with a line on the terminal each time."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    naps: list[float] = []
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", naps.append)
    client = HubClient("http://127.0.0.1:9", tmp_path)
    with pytest.raises(ResourceError, match="did not answer"):
        client.small_file(REPO, "config.json")
    assert naps == []
    assert capfd.readouterr().err == ""


def test_without_a_hub_the_cache_must_do(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    online = HubClient(hub.endpoint, tmp_path)
    path = online.small_file(REPO, "config.json", "main")
    CachePlace(online, online.repository(REPO)).remember("main")
    assert HubClient("http://127.0.0.1:9", tmp_path).small_file(REPO, "config.json") == path
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert online.small_file(REPO, "config.json") == path


def test_offline_is_said(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ResourceError, match="HF_HUB_OFFLINE is set"):
        HubClient(hub.endpoint).repository(REPO)


def test_a_gated_repository_is_listed(hub: FakeHub) -> None:
    assert HubClient(hub.endpoint).repository(REPO).gated
