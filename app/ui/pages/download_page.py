"""The Download page: what a repository offers and what of it fits here, then the files."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.controllers.download import DownloadController, DownloadState
from app.core.download_events import (
    DownloadFinished,
    DownloadProgressed,
    OfferedModel,
    RepositoryFound,
)
from app.core.events import ErrorInfo
from app.ui.theme import set_role, ui_font
from app.ui.widgets.download_card import DownloadCard
from app.ui.widgets.error_card import ErrorCard
from app.ui.widgets.page_column import PageColumn
from app.ui.widgets.repository_card import RepositoryCard
from app.ui.widgets.source_field import SourceField


class DownloadPage(QWidget):
    """Shows what the controller tells; a download goes on while other pages are open.

    Signals:
        convert_requested(Path): convert what was downloaded.
    """

    convert_requested = Signal(object)

    def __init__(self, controller: DownloadController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._controller = controller
        self._reference = ""
        self._finished: DownloadFinished | None = None
        self.field = SourceField(
            self.tr("Repository"),
            self.tr("org/name, org/name:Q4_K_M, or the address of a model"),
            self.tr("Look up"),
            takes_paths=False,
        )
        self.hint = QLabel(
            self.tr(
                "Name a repository of the Hugging Face hub: you see whether it runs and how much "
                "context fits this machine before a byte of its weights is fetched. Files go into "
                "the standard cache, resume after anything, and are verified. Nothing is sent but "
                "the requests for them."
            )
        )
        self.looking = QLabel()
        self.error = ErrorCard()
        self.download = DownloadCard()
        self.repository = RepositoryCard()
        self._cards = (self.hint, self.looking, self.error, self.download, self.repository)
        self._column = PageColumn()
        self._build()
        self._connect()
        self._show_only(self.hint)

    def _show_only(self, *cards: QWidget) -> None:
        for card in self._cards:
            card.setVisible(card in cards)
        self._column.scroll_to_top()

    def _on_looking(self, reference: str) -> None:
        self._reference = reference
        self.field.show_source(reference)
        self.looking.setText(self.tr("Looking at {name}…").format(name=reference))
        self._show_only(self.looking)

    def _on_found(self, found: RepositoryFound) -> None:
        self.repository.show_repository(found)
        self._show_only(self.repository)

    def _on_begun(self, model: OfferedModel) -> None:
        self.download.show_begun(model)
        self._show_only(self.download, self.repository)

    def _on_progressed(self, progress: DownloadProgressed) -> None:
        if self._controller.state is DownloadState.DOWNLOADING:
            self.download.show_progress(progress)

    def _on_finished(self, finished: DownloadFinished) -> None:
        self._finished = finished
        self.download.show_finished(finished)

    def _on_paused(self) -> None:
        if self._controller.state is DownloadState.PAUSED:
            self.download.show_paused()
        else:
            self._show_only(self.hint)

    def _on_failed(self, error: ErrorInfo) -> None:
        title = self.tr("{name} was not downloaded").format(name=self._reference)
        self.error.show_failure(title, error)
        if self.repository.isHidden():
            self._show_only(self.error, self.hint)
        else:
            self.download.show_failed()
            self._show_only(self.error, self.download, self.repository)

    def _on_state_changed(self, state: DownloadState) -> None:
        is_free = state in (DownloadState.IDLE, DownloadState.PAUSED)
        self.field.setEnabled(is_free)
        self.repository.set_can_download(is_free)
        if state is DownloadState.PAUSING:
            self.download.show_pausing()

    def _on_retry_requested(self) -> None:
        if self.download.isHidden():
            self._controller.look_up(self._reference)
        else:
            self._controller.resume()

    def _on_convert_requested(self) -> None:
        if self._finished is not None:
            self.convert_requested.emit(self._finished.path)

    def _build(self) -> None:
        title = QLabel(self.tr("Download"))
        title.setFont(ui_font(1.8, bold=True))
        for label in (self.hint, self.looking):
            set_role(label, "tone", "muted")
            label.setWordWrap(True)
        for widget in (title, self.field, *self._cards):
            self._column.rows.addWidget(widget)
        self._column.close_rows()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._column)

    def _connect(self) -> None:
        controller = self._controller
        controller.looking.connect(self._on_looking)
        controller.found.connect(self._on_found)
        controller.begun.connect(self._on_begun)
        controller.progressed.connect(self._on_progressed)
        controller.finished.connect(self._on_finished)
        controller.paused.connect(self._on_paused)
        controller.failed.connect(self._on_failed)
        controller.state_changed.connect(self._on_state_changed)
        self.field.submitted.connect(controller.look_up)
        self.repository.download_requested.connect(controller.download)
        self.download.pause_requested.connect(controller.pause)
        self.download.resume_requested.connect(controller.resume)
        self.download.convert_requested.connect(self._on_convert_requested)
        self.error.retry_requested.connect(self._on_retry_requested)
