"""The Library page: what is on this disk, what it is good for, and what could go."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QVBoxLayout, QWidget

from app.controllers.disk import DiskController, DiskWork
from app.controllers.story import Slots, follow
from app.core.events import ErrorInfo
from app.core.library_events import (
    ItemKind,
    ItemPlace,
    ItemsRemoved,
    ItemsRestored,
    LibraryItem,
    LibraryScanned,
    TrashMissing,
    VerifyFinished,
)
from app.ui.dialogs.remove_dialog import RemoveDialog
from app.ui.dialogs.source_dialog import SourceDialog
from app.ui.library_actions import LibraryAction, action_label, actions_for
from app.ui.pages.page import Page
from app.ui.sentences import shown
from app.ui.widgets.card import Card
from app.ui.widgets.disk_work_card import DiskWorkCard
from app.ui.widgets.empty_library import EmptyLibrary
from app.ui.widgets.free_up_card import FreeUpCard
from app.ui.widgets.item_card import ItemCard
from app.ui.widgets.library_banners import LibraryBanners
from app.ui.widgets.library_head import LibraryHead
from app.ui.widgets.library_table import LibraryTable

_FRESH_S = 5.0  # a look at the disk that is younger is not repeated when the window comes back
_ROOMY_HEIGHT = 640


class LibraryPage(Page):
    """Looks at the disk when it is shown, when the window comes back, and when something ended.

    Signals:
        chat_requested(Path): with a checkpoint.
        convert_requested(Path), validate_requested(Path): a source, or a checkpoint.
        resume_requested(Path, Path): an interrupted conversion: its source and its output.
        fetch_requested(str): a repository, or a file of one, to be looked up and downloaded.
        download_requested, starter_requested, pick_requested, move_requested: other pages' things.
    """

    chat_requested = Signal(object)
    convert_requested = Signal(object)
    validate_requested = Signal(object)
    resume_requested = Signal(object, object)
    fetch_requested = Signal(str)
    download_requested = Signal()
    starter_requested = Signal()
    pick_requested = Signal()
    move_requested = Signal()

    def __init__(
        self, controller: DiskController, *, has_starter: bool, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._controller = controller
        self._scanned: LibraryScanned | None = None
        self._looked_s = 0.0
        self._fetching = ""  # what to look up once its broken files are gone
        self.head = LibraryHead()
        self.banners = LibraryBanners()
        self.work = DiskWorkCard()
        self.free_up = FreeUpCard()
        self.table, self._table_card = LibraryTable(), Card()
        self.card = ItemCard()
        self.empty = EmptyLibrary(has_starter=has_starter)
        self._build()
        self._connect()
        self.first = self.table
        self._show_items(())

    def refresh(self) -> None:
        """Something on the disk may have changed; when the page is hidden, it looks later."""
        self._looked_s = 0.0
        if self.isVisible():
            self._look()

    def take_over(self, old: LibraryPage) -> None:
        """Shows what `old` shows: what it saw, chose and filtered, and what is under way."""
        self._fetching, self._looked_s = old._fetching, old._looked_s
        if old._scanned is not None:
            self._on_scanned(old._scanned)
        self._on_scanning_changed(self._controller.is_scanning)
        self.head.filter.setText(old.head.filter.text())
        self.table.take_over(old.table)
        self._controller.story.tell(self._slots)
        self.work.setVisible(not old.work.isHidden())
        self._on_work_changed(self._controller.work)
        self.banners.take_over(old.banners)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._look()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.card.set_compact(event.size().height() < _ROOMY_HEIGHT)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        is_activation = event.type() == QEvent.Type.ActivationChange
        if is_activation and self.isVisible() and self.isActiveWindow():
            self._look()

    def perform(self, action: LibraryAction, item: LibraryItem) -> None:
        """Does what a button, the menu or a key asks for."""
        match action:
            case LibraryAction.CHAT:
                self.chat_requested.emit(item.checkpoint or item.path)
            case LibraryAction.CONVERT:
                self.convert_requested.emit(item.path)
            case LibraryAction.VALIDATE:
                self.validate_requested.emit(item.path)
            case LibraryAction.VERIFY:
                self._controller.verify(item)
            case LibraryAction.REVEAL:
                self._controller.reveal(item.path)
            case LibraryAction.REMOVE:
                self.ask_to_remove((item,))
            case LibraryAction.FETCH_AGAIN:
                self._fetch_again(item)
            case LibraryAction.RESUME:
                self._resume(item)

    def ask_to_remove(self, items: tuple[LibraryItem, ...]) -> None:
        """Nothing goes without a yes."""
        if self._controller.work is DiskWork.NONE:
            self._open_dialog(RemoveDialog(items, parent=self))

    def _look(self) -> None:
        if time.monotonic() - self._looked_s > _FRESH_S and not self._controller.is_scanning:
            self._looked_s = time.monotonic()
            self._controller.refresh()

    def _on_scanned(self, scanned: LibraryScanned) -> None:
        """The first look grows before the user's eyes; later ones replace what is shown at once."""
        if not scanned.is_complete and self._scanned is not None:
            return
        if scanned.is_complete:
            self._scanned = scanned
            self._looked_s = time.monotonic()
        self._show_items(scanned.items, is_complete=scanned.is_complete)
        self.head.show_space(scanned)
        self.free_up.show_suggestions(scanned.free_up)
        self._show_interrupted_move(scanned.move_target)

    def _show_items(self, items: tuple[LibraryItem, ...], *, is_complete: bool = False) -> None:
        is_empty = not items and (is_complete or not self._controller.is_scanning)
        self.table.set_items(items)
        self.head.set_can_filter(bool(items))
        self.empty.setVisible(is_empty)
        self._table_card.setVisible(not is_empty)
        if not items:
            self.free_up.show_suggestions(())

    def _on_scanning_changed(self, is_scanning: bool) -> None:
        self.head.set_scanning(is_scanning)
        if is_scanning and self._scanned is None:
            self._show_items(())

    def _on_item_chosen(self, item: LibraryItem | None) -> None:
        self.card.setVisible(item is not None)
        if item is not None:
            self.card.show_item(item)

    def _on_card_action_requested(self, action: LibraryAction) -> None:
        items = self.table.selected_items
        if action is LibraryAction.REMOVE and items:
            self.ask_to_remove(items)
        elif items:
            self.perform(action, items[-1])

    def _on_item_activated(self, item: LibraryItem) -> None:
        first = actions_for(item)[0]
        if first not in (LibraryAction.REMOVE, LibraryAction.FETCH_AGAIN):
            self.perform(first, item)

    def _on_menu_requested(self, item: LibraryItem, position: QPoint) -> None:
        menu = QMenu(self)
        menu.setAccessibleName(item.name)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for action in actions_for(item):
            entry = menu.addAction(action_label(action))
            entry.setEnabled(self.card.buttons[action].isEnabled())
            entry.triggered.connect(lambda _=False, a=action: self._on_card_action_requested(a))
        menu.popup(position)

    def _on_work_changed(self, work: DiskWork) -> None:
        is_free = work is DiskWork.NONE
        self.card.set_busy(not is_free)
        self.free_up.set_can_remove(is_free)
        self.head.set_busy(not is_free)
        if is_free and self.work.cancel_button.isVisibleTo(self.work):
            self.work.hide()

    def _on_verified(self, result: VerifyFinished) -> None:
        self.work.show_verified(result, has_source=self._find_source(result.item) is not None)

    def _on_removed(self, event: ItemsRemoved) -> None:
        reference, self._fetching = self._fetching, ""
        if reference:
            self.fetch_requested.emit(reference)
        else:
            self.banners.show_removed(event)

    def _on_restored(self, event: ItemsRestored) -> None:
        self.banners.show_restored(event)

    def _on_trash_missing(self, event: TrashMissing) -> None:
        self._open_dialog(RemoveDialog(event.items, reason=shown(event.reason), parent=self))

    def _on_failed(self, error: ErrorInfo) -> None:
        self._fetching = ""
        self.banners.show_error(error)

    def _on_cancelled(self) -> None:
        self._fetching = ""

    def _on_moved(self, _source: Path, target: Path) -> None:
        self.banners.show_moved(target)

    def _show_interrupted_move(self, target: Path | None) -> None:
        if target is None or self._controller.work is DiskWork.MOVING:
            self.banners.remove("move")
        else:
            self.banners.show_interrupted_move(target)

    def _on_folder_requested(self) -> None:
        dialog = SourceDialog(wants_folder=True, parent=self)
        dialog.paths_chosen.connect(self._on_folders_chosen)
        dialog.open()

    def _on_folders_chosen(self, folders: list[Path]) -> None:
        self._controller.set_folders([*self._controller.folders, *folders])

    def _on_folder_dropped(self, folder: Path) -> None:
        self._controller.set_folders([f for f in self._controller.folders if f != folder])

    def _on_convert_again_requested(self, result: VerifyFinished) -> None:
        source = self._find_source(result.item)
        if source is not None:
            self.convert_requested.emit(source.path)

    def _on_cancel_requested(self) -> None:
        self.work.show_stopping()
        self._controller.cancel()

    def _open_dialog(self, dialog: RemoveDialog) -> None:
        def remove() -> None:
            self._controller.remove(dialog.items, permanently=dialog.is_permanent)

        dialog.accepted.connect(remove)
        dialog.open()

    def _find_source(self, item: LibraryItem) -> LibraryItem | None:
        """What a checkpoint was made of, where it is on this disk."""
        items = self._scanned.items if self._scanned else ()
        return next((one for one in items if one.checkpoint == item.path), None)

    def _on_fetch_requested(self, result: VerifyFinished) -> None:
        broken = tuple(one.path for one in result.broken)
        self._fetch_again(replace(result.item, files=broken))

    def _fetch_again(self, item: LibraryItem) -> None:
        """What is broken goes for good: no program takes what it finds for the real thing."""
        if self._controller.work is not DiskWork.NONE:
            return
        is_file = item.path.suffix.lower() == ".gguf"
        self._fetching = f"{item.repo_id}:{item.path.name}" if is_file else item.repo_id
        self._controller.remove((item,), permanently=True)

    def _resume(self, item: LibraryItem) -> None:
        if item.kind is ItemKind.CONVERSION and item.source is not None:
            output = item.path.with_name(item.path.name.removesuffix(".partial"))
            self.resume_requested.emit(item.source, output)
        elif item.place is ItemPlace.HUB:
            self.fetch_requested.emit(item.repo_id)

    def _build(self) -> None:
        self.card.hide()
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(24, 20, 24, 18)
        layout.setSpacing(10)
        for widget in (self.head, self.banners, self.work, self.free_up):
            layout.addWidget(widget)
        self._table_card.rows.setContentsMargins(8, 6, 8, 8)
        self._table_card.rows.addWidget(self.table)
        layout.addWidget(self._table_card, 1)
        layout.addWidget(self.empty, 1)
        layout.addWidget(self.card)
        self.banners.rows.setContentsMargins(0, 0, 0, 0)
        area = QScrollArea()  # for low windows: the table has the room that is left
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(content)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(area)

    def _connect(self) -> None:
        controller = self._controller
        self._slots: Slots = {
            "verify_begun": self.work.show_verifying,
            "verify_progressed": self.work.show_verify_progress,
            "verified": self._on_verified,
            "move_begun": self.work.show_moving,
            "move_progressed": self.work.show_move_progress,
        }
        follow(controller, self._slots)
        controller.scanned.connect(self._on_scanned)
        controller.scanning_changed.connect(self._on_scanning_changed)
        controller.work_changed.connect(self._on_work_changed)
        controller.removed.connect(self._on_removed)
        controller.trash_missing.connect(self._on_trash_missing)
        controller.restored.connect(self._on_restored)
        controller.moved.connect(self._on_moved)
        controller.cancelled.connect(self._on_cancelled)
        controller.failed.connect(self._on_failed)
        self.banners.undo_requested.connect(controller.restore)
        self.banners.move_requested.connect(controller.move_library)
        self.work.cancel_requested.connect(self._on_cancel_requested)
        self.work.fetch_requested.connect(self._on_fetch_requested)
        self.work.convert_requested.connect(self._on_convert_again_requested)
        self.free_up.remove_requested.connect(self.ask_to_remove)
        self.table.item_chosen.connect(self._on_item_chosen)
        self.table.activated_item.connect(self._on_item_activated)
        self.table.remove_requested.connect(self.ask_to_remove)
        self.table.menu_requested.connect(self._on_menu_requested)
        self.card.action_requested.connect(self._on_card_action_requested)
        self.empty.download_requested.connect(self.download_requested)
        self.empty.starter_requested.connect(self.starter_requested)
        self.empty.pick_requested.connect(self.pick_requested)
        self.empty.folder_requested.connect(self._on_folder_requested)
        self._connect_head()

    def _connect_head(self) -> None:
        self.head.filter_changed.connect(self.table.set_words)
        self.head.refresh_requested.connect(self.refresh)
        self.head.folder_requested.connect(self._on_folder_requested)
        self.head.folder_dropped.connect(self._on_folder_dropped)
        self.head.move_requested.connect(self.move_requested)
        self.head.reveal_requested.connect(
            lambda: self._controller.reveal(self._controller.library_dir)
        )
        self.head.about_to_show_folders.connect(
            lambda: self.head.show_folders(self._controller.folders)
        )
        keys = QShortcut(QKeySequence("Ctrl+Shift+E"), self)
        keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        keys.activated.connect(lambda: self._on_card_action_requested(LibraryAction.REVEAL))
