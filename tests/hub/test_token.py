"""A token belongs to one host, is kept by the system, and stands in no log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from app.core.errors import StorageError
from app.core.keychain import Keychain
from app.core.log import configure_logging
from app.hub.client import HubClient
from app.hub.endpoints import OFFICIAL, PUBLIC_MIRROR
from app.hub.token import TokenOrigin, TokenStore
from tests.hub.fake_hub import FakeHub
from tests.memory_keyring import MemoryKeyring, memory_keyring

TOKEN, OTHER = "hf_theTokenOfOneHost", "hf_theTokenOfAnother"
HUB = "https://hub.example"


@pytest.fixture
def system() -> Iterator[MemoryKeyring]:
    with memory_keyring() as backend:
        yield backend


@pytest.fixture(autouse=True)
def _no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_TOKEN", "HF_ENDPOINT", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no login"))


def test_the_systems_keyring_keeps_a_token_per_host(system: MemoryKeyring) -> None:
    assert TokenStore(Keychain()).save(HUB, TOKEN) is TokenOrigin.KEYRING
    assert list(system.kept.values()) == [TOKEN]
    again = TokenStore(Keychain())
    assert again.find(f"{HUB}/") == (TOKEN, TokenOrigin.KEYRING)
    for other in ("https://hub.example:444", "http://hub.example", "https://example", OFFICIAL):
        assert again.find(other) == ("", TokenOrigin.NONE)
    assert again.forget(HUB) is TokenOrigin.NONE
    assert system.kept == {}
    assert again.find(HUB) == ("", TokenOrigin.NONE)


def test_without_a_keyring_a_token_lives_with_the_process() -> None:
    store = TokenStore(Keychain())
    assert store.save(HUB, TOKEN) is TokenOrigin.SESSION
    assert store.find(HUB) == (TOKEN, TokenOrigin.SESSION)
    assert TokenStore(Keychain()).find(HUB)[0] == ""
    assert store.forget(HUB) is TokenOrigin.NONE
    assert store.find(HUB)[0] == ""


def test_a_locked_keyring_keeps_its_token_and_says_so(system: MemoryKeyring) -> None:
    store = TokenStore(Keychain())
    store.save(HUB, TOKEN)
    system.is_locked = True
    with pytest.raises(StorageError, match="keyring does not let go"):
        store.forget(HUB)
    assert store.save(HUB, OTHER) is TokenOrigin.SESSION
    system.is_locked = False
    assert TokenStore(Keychain()).find(HUB) == (TOKEN, TokenOrigin.KEYRING)


def test_the_environments_token_belongs_to_the_environments_hub(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    store = TokenStore(Keychain())
    assert store.find(OFFICIAL) == (TOKEN, TokenOrigin.ENVIRONMENT)
    assert store.find(HUB)[0] == ""
    monkeypatch.setenv("HF_ENDPOINT", HUB)
    assert store.find(HUB)[0] == TOKEN
    assert store.find(OFFICIAL)[0] == ""


def test_a_public_mirror_gets_a_token_only_when_it_is_given_one(
    monkeypatch: pytest.MonkeyPatch, system: MemoryKeyring
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_ENDPOINT", PUBLIC_MIRROR)
    store = TokenStore(Keychain())
    assert store.find(PUBLIC_MIRROR)[0] == ""
    store.save(PUBLIC_MIRROR, OTHER)
    assert store.find(PUBLIC_MIRROR)[0] == OTHER


def test_what_was_given_to_the_program_comes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, system: MemoryKeyring
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    store = TokenStore(Keychain())
    store.save(OFFICIAL, OTHER)
    assert store.find(OFFICIAL)[0] == OTHER
    assert store.forget(OFFICIAL) is TokenOrigin.ENVIRONMENT


def test_no_record_and_no_file_holds_a_token(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    system: MemoryKeyring,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not even where a library prints its headers."""
    root, factory = logging.getLogger(), logging.getLogRecordFactory()
    handlers, level = list(root.handlers), root.level
    path = tmp_path / "app.log"
    configure_logging(path, logging.DEBUG)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    secret = "no-prefix-tells-that-this-is-one"
    store = TokenStore(Keychain())
    monkeypatch.setattr("app.hub.client.TOKENS", store)
    with FakeHub().running() as hub:
        hub.add("org/name", {"config.json": b"{}"})
        store.save(hub.endpoint, secret)
        client = HubClient(hub.endpoint, tmp_path / "cache")
        logging.getLogger("some.library").debug("sending %s", client.headers())
        client.small_file("org/name", "config.json")
        assert {request.authorization for request in hub.requests} == {f"Bearer {secret}"}
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    logging.setLogRecordFactory(factory)
    logging.captureWarnings(False)
    root.setLevel(level)
    written = path.read_text(encoding="utf-8")
    assert "sending" in written
    assert secret not in written
    assert not any(secret in record.getMessage() for record in caplog.records)
