"""What the Chat page says above the transcript, and the way out that goes with each message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.chat.turn_tree import DeletedTurn
from app.core.events import ErrorInfo, LoadedModel
from app.ui.problems import Problem, Way, describe
from app.ui.sentences import shown
from app.ui.widgets.banner import Banner, BannerStack, BannerTone
from app.ui.widgets.problem_banner import ProblemBanner
from app.ui.widgets.shortage_banner import ShortageBanner


class ChatBanners(BannerStack):
    """Signals:
    restart_requested: start the engine again.
    retry_requested: ask for the failed reply again.
    undo_requested(conversation_id): bring a deleted conversation back.
    turn_undo_requested(DeletedTurn): bring a deleted message or reply back.
    way_requested(Way): a way out of an error.
    remedy_requested(MemoryRemedy): load the model with less.
    report_requested(Path): show what was kept of a crash.
    """

    restart_requested = Signal()
    retry_requested = Signal()
    undo_requested = Signal(str)
    turn_undo_requested = Signal(object)
    way_requested = Signal(object)
    remedy_requested = Signal(object)
    report_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._has_source = False

    def set_has_source(self, has_source: bool) -> None:
        """Whether what the model was converted from is known: then it can be made smaller."""
        if has_source is not self._has_source:
            self._has_source = has_source
            self.take_over(self)

    def show_error(self, error: ErrorInfo) -> None:
        """Loading failed, or something could not be saved."""
        banner = self._create_problem(error, can_retry=False)
        self.show_banner("error", banner, lambda new: new.show_error(error))

    def show_failed_reply(self, error: ErrorInfo) -> None:
        """A reply was refused or failed before any text."""
        banner = self._create_problem(error, can_retry=True)
        self.show_banner("reply", banner, lambda new: new.show_failed_reply(error))

    def clear_errors(self) -> None:
        """What failed before works now."""
        self.remove("error")
        self.clear_failed_reply()

    def clear_failed_reply(self) -> None:
        """Another reply is on its way, or another conversation is looked at."""
        self.remove("reply")

    def show_worker_died(self, sentence: str, report: Path | None = None) -> None:
        """The engine is gone; `report` is what was kept of its end."""
        banner = self._show_worker(
            shown(sentence), BannerTone.DANGER, lambda new: new.show_worker_died(sentence, report)
        )
        if report is not None:
            show = partial(self.report_requested.emit, report)
            banner.add_button(self.tr("Show report"), show)

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

    def show_turn_deleted(self, deleted: DeletedTurn) -> None:
        """Offers the message or reply back."""
        banner = Banner(self.tr("The message was deleted."), action=self.tr("Undo"))
        banner.action_requested.connect(lambda: self._on_turn_undo_requested(deleted))
        self.show_banner("turn", banner, lambda new: new.show_turn_deleted(deleted))

    def show_exported(self, path: Path) -> None:
        """Conversations were written to a file."""
        banner = Banner(self.tr("Saved as {path}.").format(path=path))
        self.show_banner("exported", banner, lambda new: new.show_exported(path))

    def _create_problem(self, error: ErrorInfo, *, can_retry: bool) -> ProblemBanner:
        banner = self._describe_problem(error, can_retry)
        banner.way_requested.connect(self._on_way_requested)
        return banner

    def _describe_problem(self, error: ErrorInfo, can_retry: bool) -> ProblemBanner:
        if error.shortage is not None:
            short = ShortageBanner(
                error, error.shortage, has_source=self._has_source, can_retry=can_retry
            )
            short.remedy_requested.connect(self.remedy_requested)
            return short
        problem = describe(error)
        if can_retry:
            problem = replace(problem, ways=(Way.RETRY, *problem.ways))
        return ProblemBanner(problem)

    def _show_worker(
        self, text: str, tone: BannerTone, again: Callable[[ChatBanners], object]
    ) -> ProblemBanner:
        banner = ProblemBanner(Problem("", shown(text)), tone, action=self.tr("Restart"))
        banner.action_requested.connect(self.restart_requested)
        self.show_banner("worker", banner, again)
        return banner

    def _on_way_requested(self, way: Way) -> None:
        if way is Way.RETRY:
            self.retry_requested.emit()
        else:
            self.way_requested.emit(way)

    def _on_turn_undo_requested(self, deleted: DeletedTurn) -> None:
        self.remove("turn")
        self.turn_undo_requested.emit(deleted)

    def _on_undo_requested(self, conversation_id: str) -> None:
        self.remove("deleted")
        self.undo_requested.emit(conversation_id)
