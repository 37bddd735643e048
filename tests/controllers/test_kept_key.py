"""A key is read and written away from the GUI thread; a disk that fails costs only the key."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.kept_key import KeptKey
from app.core.keychain import Keychain, KeyPlace
from app.core.secrets import redact

TIMEOUT_MS = 20_000
KEY = "sk-kept-2718281828"


@pytest.fixture
def keychain(tmp_path: Path) -> Keychain:
    return Keychain(tmp_path)


@pytest.fixture
def kept(qtbot: QtBot, keychain: Keychain) -> Iterator[KeptKey]:
    made = KeptKey(keychain)
    yield made
    made.shutdown()


def test_what_is_kept_is_read_and_redacted(qtbot: QtBot, kept: KeptKey) -> None:
    with qtbot.waitSignal(kept.written, timeout=TIMEOUT_MS) as written:
        kept.keep("port", KEY)
    assert written.args == [KeyPlace.FILE]
    with qtbot.waitSignal(kept.read, timeout=TIMEOUT_MS) as read:
        kept.ask("port")
    assert read.args == ["port", KEY]
    assert KEY not in redact(f"key {KEY}")


def test_a_slow_keyring_does_not_stop_the_window(
    qtbot: QtBot, kept: KeptKey, keychain: Keychain, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_answer = threading.Event()

    def read(name: str) -> str:
        may_answer.wait(20)  # it asks the user for a password
        return KEY

    monkeypatch.setattr(keychain, "read", read)
    kept.ask("port")
    with qtbot.waitSignal(kept.read, timeout=TIMEOUT_MS) as answered:
        may_answer.set()
    assert answered.args[1] == KEY


def test_a_file_that_cannot_be_read_or_written_is_no_key(
    qtbot: QtBot, kept: KeptKey, tmp_path: Path
) -> None:
    (tmp_path / "port").mkdir()  # neither file nor free place
    with qtbot.waitSignal(kept.written, timeout=TIMEOUT_MS) as written:
        kept.keep("port", KEY)
    assert written.args == [KeyPlace.NOWHERE]
    with qtbot.waitSignal(kept.read, timeout=TIMEOUT_MS) as read:
        kept.ask("port")
    assert read.args == ["port", ""]
