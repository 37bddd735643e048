"""Keys go to the system's keyring; without one to a private file, or nowhere but memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.keychain import Keychain, KeyPlace
from tests.memory_keyring import MemoryKeyring, memory_keyring

KEY = "sk-secret-1234"


@pytest.fixture
def system() -> Iterator[MemoryKeyring]:
    with memory_keyring() as backend:
        yield backend


def test_the_systems_keyring_comes_first(system: MemoryKeyring, tmp_path: Path) -> None:
    assert Keychain(tmp_path).write("port", KEY) is KeyPlace.KEYRING
    assert list(system.kept.values()) == [KEY]
    assert list(tmp_path.iterdir()) == []
    assert Keychain(tmp_path).read("port") == KEY


def test_an_empty_key_is_forgotten(system: MemoryKeyring) -> None:
    keychain = Keychain()
    keychain.write("port", KEY)
    assert keychain.write("port", "") is KeyPlace.NOWHERE
    assert keychain.write("port", "") is KeyPlace.NOWHERE
    assert keychain.read("port") == ""
    assert system.kept == {}


def test_without_a_keyring_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    assert Keychain(folder).write("port", KEY) is KeyPlace.FILE
    assert Keychain(folder).write("port", KEY + "5") is KeyPlace.FILE
    assert Keychain(folder).read("port") == KEY + "5"
    if os.name == "posix":
        assert stat.S_IMODE((folder / "port").stat().st_mode) == 0o600
    Keychain(folder).write("port", "")
    assert list(folder.iterdir()) == []


def test_without_a_folder_a_key_lives_as_long_as_the_program() -> None:
    keychain = Keychain()
    assert keychain.write("remote", KEY) is KeyPlace.SESSION
    assert keychain.read("remote") == KEY
    assert Keychain().read("remote") == ""


def test_a_locked_keyring_is_no_crash_and_no_key_in_the_log(
    system: MemoryKeyring, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keychain = Keychain(tmp_path)
    keychain.write("port", "the old one")
    system.is_locked = True
    assert keychain.write("port", KEY) is KeyPlace.FILE
    assert keychain.read("port") == KEY
    system.is_locked = False
    assert Keychain(tmp_path).read("port") == KEY, "not the one that the keyring still has"
    assert KEY not in caplog.text


def test_a_locked_keyring_forgets_nothing_and_it_is_said(system: MemoryKeyring) -> None:
    keychain = Keychain()
    keychain.write("port", KEY)
    system.is_locked = True
    assert keychain.write("port", "") is KeyPlace.KEYRING
    system.is_locked = False
    assert keychain.read("port") == KEY
    assert keychain.write("port", "") is KeyPlace.NOWHERE


def test_where_there_is_no_keyring_nothing_is_left_of_a_key() -> None:
    assert Keychain().write("port", "") is KeyPlace.NOWHERE
