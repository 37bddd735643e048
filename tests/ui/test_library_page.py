"""The Library page shows what a scan finds, asks before anything goes, and says what became."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QModelIndex, QRect, Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from app.core.events import ErrorInfo
from app.core.library_events import (
    ItemsRemoved,
    LibraryItem,
    Removed,
    TrashMissing,
)
from app.ui.item_models.library_model import LibraryColumn
from app.ui.library_actions import LibraryAction, actions_for
from app.ui.pages.library_page import LibraryPage
from tests.ui.library_items import (
    CHECKPOINT,
    CONVERSION,
    DAMAGED,
    DOWNLOAD,
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


def _rows(library_page: LibraryPage) -> list[str]:
    """Groups and names as they are shown."""
    model, shown = library_page.table.model(), []
    for row in range(model.rowCount()):
        group = model.index(row, 0)
        shown.append(f"[{group.data()}]")
        shown += [model.index(r, 0, group).data() for r in range(model.rowCount(group))]
    return shown


def test_an_empty_disk_says_where_models_come_from(
    library_page: LibraryPage, disk: QuietDisk
) -> None:
    assert disk.asked == [("refresh",)]  # as it was shown
    disk.scanned.emit(scanned())
    assert library_page.empty.isVisible()
    assert not library_page.table.isVisible()
    assert "61.0 GiB of 250 GiB free" in texts(library_page)


def test_empty_buttons_lead_on(qtbot: QtBot, library_page: LibraryPage) -> None:
    for button, signal in (
        (library_page.empty.download_button, library_page.download_requested),
        (library_page.empty.starter_button, library_page.starter_requested),
        (library_page.empty.pick_button, library_page.pick_requested),
    ):
        with qtbot.waitSignal(signal) as asked:
            button.click()
        assert asked.args == []


def test_items_stand_in_groups_the_largest_first(
    library_page: LibraryPage, disk: QuietDisk
) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    assert _rows(library_page) == [
        "[Ready to chat   2 · 2.1 GiB]",
        "团队/通义千问 2.5",
        "SmolLM2",
        "[Can be converted   1 · 3.0 GiB]",
        "Qwen-Q4_K_M",
        "[Incomplete downloads   1 · 1.0 GiB]",
        "org/big",
        "[Interrupted conversions   1 · 1.0 GiB]",
        "half",
        "[Damaged   1 · 1.0 GiB]",
        "org/broken",
    ]
    assert "6 items, 8.1 GiB" in texts(library_page)
    library_page.table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    assert _rows(library_page)[1:3] == ["SmolLM2", "团队/通义千问 2.5"]
    library_page.table.sortByColumn(0, Qt.SortOrder.DescendingOrder)
    assert _rows(library_page)[0] == "[Ready to chat   2 · 2.1 GiB]"  # groups keep their order
    assert _rows(library_page)[1:3] == ["团队/通义千问 2.5", "SmolLM2"]


def test_one_item_is_told_as_one(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(scanned(SMALL))
    assert "1 item, 102 MiB" in texts(library_page)


def test_the_arrow_of_the_order_lies_on_no_word(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    library_page.resize(1000, 700)
    head, size = library_page.table.header(), LibraryColumn.SIZE
    left, right = head.sectionPosition(size), head.sectionPosition(size) + head.sectionSize(size)
    drawn = head.grab(QRect(left, 2, right - left, head.height() - 6)).toImage()
    columns = [
        len({drawn.pixel(x, y) for y in range(drawn.height())}) > 1 for x in range(drawn.width())
    ]
    before = len(columns) - columns[::-1].index(True)  # the arrow ends here
    blank = next(x for x in range(before - 1, 0, -1) if not columns[x])
    assert 3 < before - blank < 14, "an arrow is no word"
    assert not any(columns[blank - 3 : blank])
    assert any(columns[: blank - 3]), "the word stands before it"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("千问", ["团队/通义千问 2.5"]),
        ("llama", ["SmolLM2"]),
        ("q4_k gguf", ["Qwen-Q4_K_M"]),
        ("org/b", ["org/big", "org/broken"]),
        ("nowhere", []),
    ],
)
def test_a_filter_leaves_what_holds_all_words(
    library_page: LibraryPage, disk: QuietDisk, words: str, names: list[str]
) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    library_page.head.filter.setText(words)
    assert [row for row in _rows(library_page) if not row.startswith("[")] == names
    library_page.head.filter.clear()
    assert len(_rows(library_page)) == len(ITEMS) + 5


def test_a_first_look_grows_a_later_one_replaces(
    library_page: LibraryPage, disk: QuietDisk
) -> None:
    disk.scanned.emit(scanned(SMALL, is_complete=False))
    assert "SmolLM2" in _rows(library_page)
    disk.scanned.emit(scanned(*ITEMS))
    disk.scanned.emit(scanned(SMALL, is_complete=False))  # of the next look
    assert len(_rows(library_page)) == len(ITEMS) + 5
    disk.scanned.emit(scanned(SMALL))
    assert _rows(library_page) == ["[Ready to chat   1 · 102 MiB]", "SmolLM2"]


def test_the_selection_outlives_a_look(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    select(library_page, SOURCE)
    disk.scanned.emit(scanned(*(i for i in ITEMS if i is not SMALL)))
    assert library_page.table.selected_items == (SOURCE,)
    disk.scanned.emit(scanned(SMALL))
    assert library_page.table.selected_items == ()
    assert not library_page.card.isVisible()


def test_the_card_tells_and_offers(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    select(library_page, CHECKPOINT)
    QApplication.processEvents()  # the chips are laid out
    shown = texts(library_page.card)
    for text in ("Ready to chat", "2.0 GiB", "Qwen2", "W4, lossless", "Loaded here"):
        assert text in shown, text
    select(library_page, DAMAGED)
    assert "the header is truncated" in texts(library_page.card)
    visible = [a for a, b in library_page.card.buttons.items() if b.isVisibleTo(library_page.card)]
    assert set(visible) == set(actions_for(DAMAGED))


def test_what_is_in_use_cannot_be_removed(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(scanned(replace(SMALL, busy="loaded")))
    select(library_page, SMALL)
    assert not library_page.card.buttons[LibraryAction.REMOVE].isEnabled()
    assert "It is loaded right now" in texts(library_page.card)


@pytest.mark.parametrize(
    ("item", "action", "signal", "arguments"),
    [
        (CHECKPOINT, LibraryAction.CHAT, "chat_requested", [CHECKPOINT.path]),
        (SOURCE, LibraryAction.CHAT, "chat_requested", [CHECKPOINT.path]),
        (SOURCE, LibraryAction.CONVERT, "convert_requested", [SOURCE.path]),
        (SOURCE, LibraryAction.VALIDATE, "validate_requested", [SOURCE.path]),
        (DOWNLOAD, LibraryAction.RESUME, "fetch_requested", ["org/big"]),
        (
            CONVERSION,
            LibraryAction.RESUME,
            "resume_requested",
            [CONVERSION.source, LIBRARY / "half"],
        ),
    ],
)
def test_buttons_ask_other_pages(
    qtbot: QtBot,
    library_page: LibraryPage,
    disk: QuietDisk,
    item: LibraryItem,
    action: LibraryAction,
    signal: str,
    arguments: list[object],
) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    select(library_page, item)
    with qtbot.waitSignal(getattr(library_page, signal)) as asked:
        library_page.card.buttons[action].click()
    assert asked.args == arguments


def test_enter_chats(qtbot: QtBot, library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    select(library_page, CHECKPOINT)
    with qtbot.waitSignal(library_page.chat_requested) as asked:
        qtbot.keyClick(library_page.table, Qt.Key.Key_Return)
    assert asked.args == [CHECKPOINT.path]


def test_verify_and_reveal_go_to_the_disk(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    select(library_page, CHECKPOINT)
    library_page.card.buttons[LibraryAction.VERIFY].click()
    library_page.card.buttons[LibraryAction.REVEAL].click()
    assert disk.asked[1:] == [("verify", CHECKPOINT), ("reveal", CHECKPOINT.path)]


def test_del_asks_first(qtbot: QtBot, library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    select(library_page, CHECKPOINT, SMALL)
    qtbot.keyClick(library_page.table, Qt.Key.Key_Delete)
    dialog = remove_dialog(library_page)
    assert dialog.title.text() == "Move 2 items to the trash?"
    assert dialog.text.text() == "2.1 GiB will be free once the trash is emptied."
    assert dialog.keep_button.isDefault()
    dialog.keep_button.click()
    assert disk.asked == [("refresh",)]
    qtbot.keyClick(library_page.table, Qt.Key.Key_Delete)
    remove_dialog(library_page).remove_button.click()
    assert disk.asked[1:] == [("remove", (CHECKPOINT, SMALL), False)]


def test_without_a_trash_it_asks_in_other_words(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.trash_missing.emit(TrashMissing((SMALL,), "E:\\ has no Recycle Bin."))
    dialog = remove_dialog(library_page)
    assert dialog.title.text() == "Delete SmolLM2 for good?"
    assert dialog.text.text().startswith("E:\\ has no Recycle Bin.")
    dialog.remove_button.click()
    assert disk.asked[-1] == ("remove", (SMALL,), True)


def test_undo_brings_back(library_page: LibraryPage, disk: QuietDisk) -> None:
    removed = (Removed(SMALL, (SMALL.path,)),)
    disk.removed.emit(ItemsRemoved(removed, GIB, is_in_trash=True, can_restore=True))
    (banner,) = library_page.banners.banners
    assert banner.text == "SmolLM2 is in the trash (1.0 GiB)."
    banner.action_button.click()
    assert disk.asked[-1] == ("restore", removed)


def test_where_undo_cannot_be_the_trash_is_named(
    library_page: LibraryPage, disk: QuietDisk
) -> None:
    removed = (Removed(SMALL, (SMALL.path,)),)
    disk.removed.emit(ItemsRemoved(removed, GIB, is_in_trash=True))
    (banner,) = library_page.banners.banners
    assert "brought back from there" in banner.text
    assert not banner.action_button.isVisibleTo(banner)


def test_failures_are_one_sentence(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.failed.emit(ErrorInfo("ResourceError", "SmolLM2 is loaded right now."))
    assert [banner.text for banner in library_page.banners.banners] == [
        "SmolLM2 is loaded right now."
    ]


def test_a_narrow_window_keeps_names_and_sizes(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(scanned(*ITEMS))
    library_page.resize(636, 560)
    select(library_page, CHECKPOINT)
    QApplication.processEvents()
    assert library_page.width() == 636
    hidden = [column for column in range(6) if library_page.table.isColumnHidden(column)]
    assert set(hidden) <= {2, 4, 5}
    assert hidden
    widths = sum(library_page.table.columnWidth(c) for c in range(6) if c not in hidden)
    assert widths <= library_page.table.viewport().width()


def test_everything_has_a_name_for_screen_readers(
    library_page: LibraryPage, disk: QuietDisk
) -> None:
    disk.scanned.emit(replace(scanned(*ITEMS), free_up=FREE_UP))
    for button in library_page.findChildren(QPushButton):
        assert button.text() or button.accessibleName()
    for widget in (
        library_page.table,
        library_page.head.filter,
        library_page.head.refresh_button,
        library_page.head.volume,
    ):
        assert widget.accessibleName()
    index = library_page.table.model().index(
        0, 0, library_page.table.model().index(0, 0, QModelIndex())
    )
    assert index.data(Qt.ItemDataRole.DisplayRole) == "团队/通义千问 2.5"


def test_names_are_never_read_as_markup(library_page: LibraryPage, disk: QuietDisk) -> None:
    disk.scanned.emit(scanned(replace(SMALL, name="<b>x</b>", problem="<i>y</i>")))
    select(library_page, replace(SMALL, name="<b>x</b>"))
    labels = [label for label in library_page.card.findChildren(QLabel) if "<" in label.text()]
    assert labels
    assert {label.textFormat() for label in labels} == {Qt.TextFormat.PlainText}
