"""What the Chat page says above the transcript, and the way out that goes with each message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Signal

from app.core.events import ErrorInfo, LoadedModel
from app.ui.widgets.banner import Banner, BannerStack, BannerTone


class ChatBanners(BannerStack):
    """Signals:
    restart_requested: start the engine again.
    retry_requested: ask for the failed reply again.
    undo_requested(conversation_id): bring a deleted conversation back.
    """

    restart_requested = Signal()
    retry_requested = Signal()
    undo_requested = Signal(str)

    def show_error(self, error: ErrorInfo) -> None:
        """Loading failed, or something could not be saved."""
        banner = Banner(error.message, BannerTone.DANGER, detail=error.detail)
        self.show_banner("error", banner, lambda new: new.show_error(error))

    def show_failed_reply(self, error: ErrorInfo) -> None:
        """A reply was refused or failed before any text."""
        action = self.tr("Try again")
        banner = Banner(error.message, BannerTone.DANGER, action=action, detail=error.detail)
        banner.action_requested.connect(self.retry_requested)
        self.show_banner("error", banner, lambda new: new.show_failed_reply(error))

    def clear_errors(self) -> None:
        """What failed before works now."""
        self.remove("error")

    def show_worker_died(self, sentence: str) -> None:
        """The engine is gone."""
        self._show_worker(sentence, BannerTone.DANGER, lambda new: new.show_worker_died(sentence))

    def show_worker_unresponsive(self, silent_s: float) -> None:
        """The engine may be gone."""
        text = self.tr("The engine has not answered for {n} seconds.")
        self._show_worker(
            text.format(n=round(silent_s)),
            BannerTone.WARNING,
            lambda new: new.show_worker_unresponsive(silent_s),
        )

    def clear_worker(self) -> None:
        """The engine answers again."""
        self.remove("worker")

    def show_model(self, model: LoadedModel) -> None:
        """Warns of a model that was not made for chatting."""
        self.remove("template")
        if not model.has_chat_template:
            text = self.tr("{name} has no chat template: it continues text rather than answering.")
            banner = Banner(text.format(name=model.name), BannerTone.WARNING)
            self.show_banner("template", banner, lambda new: new.show_model(model))

    def show_deleted(self, conversation_id: str) -> None:
        """Offers the conversation back."""
        banner = Banner(self.tr("The conversation was deleted."), action=self.tr("Undo"))
        banner.action_requested.connect(lambda: self._on_undo_requested(conversation_id))
        self.show_banner("deleted", banner, lambda new: new.show_deleted(conversation_id))

    def show_exported(self, path: Path) -> None:
        """Conversations were written to a file."""
        banner = Banner(self.tr("Saved as {path}.").format(path=path))
        self.show_banner("exported", banner, lambda new: new.show_exported(path))

    def _show_worker(
        self, text: str, tone: BannerTone, again: Callable[[ChatBanners], object]
    ) -> None:
        banner = Banner(text, tone, action=self.tr("Restart"))
        banner.action_requested.connect(self.restart_requested)
        self.show_banner("worker", banner, again)

    def _on_undo_requested(self, conversation_id: str) -> None:
        self.remove("deleted")
        self.undo_requested.emit(conversation_id)
