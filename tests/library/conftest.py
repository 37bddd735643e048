"""A hub that was asked for models, and a library that holds some."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.fake_hub import FakeHub


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    """Without repositories."""
    with FakeHub().running() as hub:
        yield hub


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache of this test, standard to all that asks in this process."""
    from huggingface_hub import constants

    folder = tmp_path / "hub cache"
    folder.mkdir()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    return folder


@pytest.fixture
def trash_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The desktop's trash, in a place of its own."""
    from send2trash import plat_other

    home = tmp_path / "data home"
    home.mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    monkeypatch.setattr(plat_other, "XDG_DATA_HOME", str(home).encode())
    monkeypatch.setattr(plat_other, "HOMETRASH_B", str(home / "Trash").encode())
    monkeypatch.setattr("app.library.trash.send2trash", plat_other.send2trash)
    # It asks whether the home is on the same volume; that of the test is.
    monkeypatch.setenv("HOME", str(home))
    return home / "Trash"
