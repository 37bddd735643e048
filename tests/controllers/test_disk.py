"""The disk as the window sees it: scanned, verified, removed, restored and moved by a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.cli.main import main
from app.controllers.disk import DiskController, DiskWork
from app.core.holds import held
from app.core.library_events import ItemKind, ItemPlace, LibraryItem, LibraryScanned
from app.core.paths import library_dir, settings_path
from app.core.settings_store import SettingsStore
from tests.library.disk import convert_tiny

TIMEOUT_MS = 120_000


@pytest.fixture
def settings() -> SettingsStore:
    return SettingsStore(settings_path())


@pytest.fixture
def disk(
    qtbot: QtBot, settings: SettingsStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DiskController]:
    """Its process has a cache and a trash of its own."""
    for name in ("home", "cache"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    controller = DiskController(library_dir(), settings)
    yield controller
    controller.shutdown()


def _scan(qtbot: QtBot, disk: DiskController) -> LibraryScanned:
    with qtbot.waitSignal(
        disk.scanned, timeout=TIMEOUT_MS, check_params_cb=lambda event: event.is_complete
    ) as blocker:
        disk.refresh()
    found = blocker.args[0]
    assert isinstance(found, LibraryScanned)
    return found


def _find(qtbot: QtBot, disk: DiskController, kind: ItemKind) -> LibraryItem:
    """A look that was begun before the item was there may end first."""
    with qtbot.waitSignal(
        disk.scanned,
        timeout=TIMEOUT_MS,
        check_params_cb=lambda event: any(item.kind is kind for item in event.items),
    ) as blocker:
        disk.refresh()
    return _only(blocker.args[0], kind)


def _only(found: LibraryScanned, kind: ItemKind) -> LibraryItem:
    (item,) = (item for item in found.items if item.kind is kind)
    return item


def test_a_checkpoint_is_verified_removed_and_brought_back(
    qtbot: QtBot, disk: DiskController
) -> None:
    checkpoint = convert_tiny(library_dir(), "tiny")
    item = _find(qtbot, disk, ItemKind.CHECKPOINT)
    with qtbot.waitSignal(disk.verified, timeout=TIMEOUT_MS) as verified:
        disk.verify(item)
        assert disk.work is DiskWork.VERIFYING
        disk.remove([item])  # one at a time: no effect
    assert verified.args[0].broken == ()
    with qtbot.waitSignal(disk.removed, timeout=TIMEOUT_MS) as removed:
        disk.remove([item])
    event = removed.args[0]
    assert (event.is_in_trash, event.freed_bytes) == (True, item.size_bytes)
    assert not checkpoint.exists()
    with qtbot.waitSignal(disk.restored, timeout=TIMEOUT_MS):
        disk.restore(event.removed)
    assert _find(qtbot, disk, ItemKind.CHECKPOINT).path == checkpoint


def test_without_a_trash_it_is_asked_for_good(
    qtbot: QtBot, disk: DiskController, tmp_path: Path
) -> None:
    checkpoint = convert_tiny(library_dir(), "tiny")
    item = _find(qtbot, disk, ItemKind.CHECKPOINT)
    (tmp_path / "home" / "data").write_text("where the trash would be")
    with qtbot.waitSignal(disk.trash_missing, timeout=TIMEOUT_MS) as missing:
        disk.remove([item])
    assert missing.args[0].items == (item,)
    assert checkpoint.exists()
    with qtbot.waitSignal(disk.removed, timeout=TIMEOUT_MS) as removed:
        disk.remove([item], permanently=True)
    assert not removed.args[0].is_in_trash
    assert not checkpoint.exists()


def test_what_is_in_use_is_one_sentence(qtbot: QtBot, disk: DiskController) -> None:
    checkpoint = convert_tiny(library_dir(), "tiny")
    item = _find(qtbot, disk, ItemKind.CHECKPOINT)
    with held(checkpoint, "loaded"), qtbot.waitSignal(disk.failed, timeout=TIMEOUT_MS) as failed:
        disk.remove([item])
    assert failed.args[0].message == "tiny is loaded right now; nothing was removed."
    assert disk.work is DiskWork.NONE


def test_the_library_moves_and_the_settings_know(
    qtbot: QtBot, disk: DiskController, settings: SettingsStore, tmp_path: Path
) -> None:
    before = library_dir()
    settings.update(last_model=str(before / "tiny"))
    convert_tiny(before, "tiny")
    target = tmp_path / "新 folder"
    with qtbot.waitSignal(disk.moved, timeout=TIMEOUT_MS) as moved:
        disk.move_library(target)
    assert moved.args == [before, target]
    assert library_dir() == disk.library_dir == target
    assert SettingsStore(settings_path()).values.last_model == str(target / "tiny")
    found = _scan(qtbot, disk)
    assert _only(found, ItemKind.CHECKPOINT).path == target / "tiny"
    assert found.move_target is None


def test_a_move_from_the_command_line_is_followed(
    qtbot: QtBot, disk: DiskController, settings: SettingsStore, tmp_path: Path
) -> None:
    before = library_dir()
    convert_tiny(before, "tiny")
    assert main(["library", "--move", str(tmp_path / "new")]) == 0
    with qtbot.waitSignal(disk.moved, timeout=TIMEOUT_MS) as moved:
        found = _scan(qtbot, disk)
    assert moved.args == [before, tmp_path / "new"]
    assert _only(found, ItemKind.CHECKPOINT).path == tmp_path / "new" / "tiny"
    settings.update(theme="dark")
    assert library_dir() == tmp_path / "new"


def test_further_folders_are_listed(qtbot: QtBot, disk: DiskController) -> None:
    convert_tiny(library_dir(), "tiny")
    folder = library_dir().parent / "sources"
    with qtbot.waitSignal(
        disk.scanned, timeout=TIMEOUT_MS, check_params_cb=lambda event: event.is_complete
    ) as blocker:
        disk.set_folders([folder, folder])
    assert disk.folders == (folder,)
    assert _only(blocker.args[0], ItemKind.SOURCE).checkpoint == library_dir() / "tiny"


def test_a_process_that_dies_is_told(qtbot: QtBot, disk: DiskController) -> None:
    disk.refresh()
    with qtbot.waitSignal(disk.failed, timeout=TIMEOUT_MS):
        disk._link._process.kill()
    assert not disk.is_scanning
    assert _scan(qtbot, disk).is_complete


def test_a_look_that_fails_is_told_once_and_is_no_end_of_work(
    qtbot: QtBot, settings: SettingsStore, tmp_path: Path
) -> None:
    """It is not begun again by itself: that would fail again, and so on."""
    disk = DiskController(library_dir(), settings, service="fake_library:create_service")
    told: list[object] = []
    disk.failed.connect(lambda error: told.append(error.message))
    disk.cancelled.connect(told.append)
    checkpoint = convert_tiny(library_dir(), "tiny")
    item = LibraryItem(ItemKind.CHECKPOINT, "tiny", checkpoint, ItemPlace.LIBRARY, 1)
    disk.verify(item)
    disk.refresh()
    qtbot.waitUntil(lambda: len(told) == 1 and not disk.is_scanning, timeout=TIMEOUT_MS)
    disk.reveal(tmp_path)
    qtbot.waitUntil(lambda: len(told) == 2, timeout=TIMEOUT_MS)
    assert told == ["Internal error: a fault", "There is no file manager."]
    assert disk.work is DiskWork.VERIFYING
    disk.cancel()  # of the verification, though other things were asked for since
    qtbot.waitUntil(lambda: DiskWork.VERIFYING in told, timeout=TIMEOUT_MS)
    disk.shutdown()
