"""What the Library page says above its table, and the way back that goes with it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal

from app.core.events import ErrorInfo
from app.core.library_events import ItemsRemoved, ItemsRestored
from app.core.units import format_bytes
from app.ui.problems import Way, describe, without
from app.ui.widgets.banner import Banner, BannerStack, BannerTone
from app.ui.widgets.problem_banner import ProblemBanner


class LibraryBanners(BannerStack):
    """Signals:
    undo_requested(tuple[Removed, ...]): bring back what was removed.
    move_requested(Path): go on with a move to this folder.
    way_requested(Way): a way out of an error.
    """

    undo_requested = Signal(object)
    move_requested = Signal(object)
    way_requested = Signal(object)

    def show_removed(self, event: ItemsRemoved) -> None:
        """Items are gone, or in the trash."""
        names = ", ".join(one.item.name for one in event.removed)
        size = format_bytes(event.freed_bytes)
        text, undo = self.tr("{names} was deleted ({size})."), ""
        if event.is_in_trash:
            text = self.tr("{names} is in the trash ({size}).")
            undo = self.tr("Undo") if event.can_restore else ""
        text = text.format(names=names, size=size)
        if event.is_in_trash and not event.can_restore:
            text += " " + self.tr("It can be brought back from there.")
        banner = Banner(text, action=undo)
        banner.action_requested.connect(lambda: self.undo_requested.emit(event.removed))
        self.show_banner("removed", banner, lambda new: new.show_removed(event))

    def show_restored(self, event: ItemsRestored) -> None:
        """Items are back."""
        banner = Banner(self.tr("{names} is back.").format(names=", ".join(event.names)))
        self.show_banner("removed", banner, lambda new: new.show_restored(event))

    def show_error(self, error: ErrorInfo) -> None:
        """Something could not be done."""
        banner = ProblemBanner(without(describe(error), Way.LIBRARY))
        banner.way_requested.connect(self.way_requested)
        self.show_banner("failed", banner, lambda new: new.show_error(error))

    def show_moved(self, target: Path) -> None:
        """The library is somewhere else."""
        banner = Banner(self.tr("The library is in {path} now.").format(path=target))
        self.show_banner("moved", banner, lambda new: new.show_moved(target))

    def show_interrupted_move(self, target: Path) -> None:
        """A move was begun and is not complete."""
        text = self.tr("A move to {path} was interrupted; some models are there already.")
        banner = Banner(text.format(path=target), BannerTone.WARNING, action=self.tr("Go on"))
        banner.action_requested.connect(lambda: self.move_requested.emit(target))
        self.show_banner("move", banner, lambda new: new.show_interrupted_move(target))
