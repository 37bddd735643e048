"""Verifying, freeing and moving as the Library page shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.controllers.disk import DiskWork
from app.core.library_events import (
    BrokenFile,
    ItemsRemoved,
    MoveProgressed,
    Removed,
    VerifyFinished,
    VerifyProgressed,
)
from app.ui.dialogs.move_library_dialog import MoveLibraryDialog
from app.ui.library_actions import LibraryAction
from app.ui.pages.library_page import LibraryPage
from tests.ui.library_items import (
    CHECKPOINT,
    FREE_UP,
    GIB,
    ITEMS,
    LIBRARY,
    SMALL,
    SOURCE,
    QuietDisk,
    remove_dialog,
    scanned,
    select,
)
from tests.ui.window_support import texts


def test_a_verification_shows_its_way_and_its_end(
    library_page: LibraryPage, disk: QuietDisk
) -> None:
    disk._set_work(DiskWork.VERIFYING)
    disk.verify_begun.emit(SOURCE)
    assert "0 B of 3.0 GiB" in texts(library_page.work)
    disk.verify_progressed.emit(VerifyProgressed(SOURCE.key, "Qwen.gguf", GIB, 3 * GIB))
    assert "Qwen.gguf  ·  1.0 GiB of 3.0 GiB" in texts(library_page.work)
    assert library_page.work.progress.value() == 333
    disk._set_work(DiskWork.NONE)
    disk.verified.emit(VerifyFinished(SOURCE, 1, 3 * GIB, ()))
    assert "every byte is what it should be" in texts(library_page.work)
    assert not library_page.work.fetch_button.isVisible()


def test_a_broken_file_is_fetched_again(
    qtbot: QtBot, library_page: LibraryPage, disk: QuietDisk
) -> None:
    broken = BrokenFile(SOURCE.path, "Qwen-Q4_K_M.gguf is damaged: its digest is not the hub's.")
    disk.verified.emit(VerifyFinished(SOURCE, 1, 3 * GIB, (broken,)))
    assert "Qwen-Q4_K_M is damaged" in texts(library_page.work)
    library_page.work.fetch_button.click()
    assert disk.asked[-1] == ("remove", (SOURCE,), True)
    with qtbot.waitSignal(library_page.fetch_requested) as asked:
        disk.removed.emit(ItemsRemoved((Removed(SOURCE),), 3 * GIB, is_in_trash=False))
    assert asked.args == ["org/Qwen-GGUF:Qwen-Q4_K_M.gguf"]


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_what_is_not_removed_is_not_fetched_instead_of_what_is(
    library_page: LibraryPage, disk: QuietDisk, is_cancelled: bool
) -> None:
    """Either its removal was cancelled, or another one was under way."""
    fetched: list[str] = []
    library_page.fetch_requested.connect(fetched.append)
    broken = BrokenFile(SOURCE.path, "Qwen-Q4_K_M.gguf is damaged: its digest is not the hub's.")
    disk.verified.emit(VerifyFinished(SOURCE, 1, 3 * GIB, (broken,)))
    if not is_cancelled:
        disk._set_work(DiskWork.REMOVING)
    library_page.work.fetch_button.click()
    if is_cancelled:
        disk.cancelled.emit(DiskWork.REMOVING)
    disk._set_work(DiskWork.NONE)
    disk.removed.emit(ItemsRemoved((Removed(SMALL),), GIB, is_in_trash=True, can_restore=True))
    assert fetched == []
    assert "SmolLM2 is in the trash" in texts(library_page.banners)


def test_a_broken_checkpoint_is_converted_again(
    qtbot: QtBot, library_page: LibraryPage, disk: QuietDisk
) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    broken = (BrokenFile(CHECKPOINT.path / "embed.safetensors", "embed.safetensors is damaged."),)
    disk.verified.emit(VerifyFinished(CHECKPOINT, 9, 2 * GIB, broken))
    with qtbot.waitSignal(library_page.convert_requested) as asked:
        library_page.work.convert_button.click()
    assert asked.args == [SOURCE.path]
    disk.verified.emit(VerifyFinished(SMALL, 9, 2 * GIB, broken))
    assert not library_page.work.convert_button.isVisible()  # nobody knows what it was made of


def test_what_could_go_is_listed_and_asked_for(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(replace(scanned(*ITEMS), free_up=FREE_UP))
    assert "4.0 GiB could be freed" in texts(library_page.free_up)
    library_page.free_up.toggle.click()
    assert "converted; its checkpoint is verified" in texts(library_page.free_up)
    button = library_page.free_up.findChildren(
        QPushButton, options=Qt.FindChildOption.FindChildrenRecursively
    )
    (first,) = (b for b in button if b.accessibleName() == "Remove Qwen-Q4_K_M, 3.0 GiB")
    first.click()
    assert remove_dialog(library_page).items == (SOURCE,)
    assert disk.asked == [("refresh",)]  # a question, no more
    disk.scanned.emit(scanned(*ITEMS))
    assert not library_page.free_up.isVisible()


def test_a_move_is_shown_and_an_interrupted_one_offered(
    library_page: LibraryPage, disk: QuietDisk, tmp_path: Path
) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    select(library_page, SOURCE)
    disk._set_work(DiskWork.MOVING)
    disk.move_begun.emit(tmp_path)
    disk.move_progressed.emit(MoveProgressed("SmolLM2", GIB, 2 * GIB))
    assert library_page.work.progress.value() == 500
    assert not library_page.card.buttons[LibraryAction.VERIFY].isEnabled()
    disk._set_work(DiskWork.NONE)
    assert not library_page.work.isVisible()
    disk.scanned.emit(replace(scanned(*ITEMS), move_target=tmp_path))
    (banner,) = library_page.banners.banners
    banner.action_button.click()
    assert disk.asked[-1] == ("move", tmp_path)


def test_the_library_moves_to_an_absolute_folder(qtbot: QtBot, tmp_path: Path) -> None:
    dialog = MoveLibraryDialog(LIBRARY)
    qtbot.addWidget(dialog)
    for text in ("", "relative/folder", str(LIBRARY)):
        dialog.field.setText(text)
        assert not dialog.move_button.isEnabled(), text
    dialog.field.setText(f" {tmp_path} ")
    with qtbot.waitSignal(dialog.folder_chosen) as chosen:
        dialog.move_button.click()
    assert chosen.args == [tmp_path]
