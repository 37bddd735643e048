"""The Download page: models found, what of them fits here, and the queue of what is fetched."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.controllers.download import DownloadController
from app.controllers.story import Slots, follow
from app.core.download_events import (
    DownloadFinished,
    RepositoriesFound,
    RepositoryFound,
)
from app.core.errors import HubAccessError, HubBusyError, HubSilentError, UsageError
from app.core.events import ErrorInfo
from app.hub.download_queue import QueueState
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.endpoints_card import EndpointsCard
from app.ui.widgets.error_card import ErrorCard
from app.ui.widgets.page_column import PageColumn
from app.ui.widgets.queue_view import QueueView
from app.ui.widgets.repository_card import RepositoryCard
from app.ui.widgets.results_card import ResultsCard
from app.ui.widgets.source_field import SourceField
from app.ui.widgets.token_card import TokenCard, find_links

# Searches for who has none in mind: families that this program runs, in sizes for small cards.
_EXAMPLES = ("qwen3 1.7b gguf", "llama 3.2 3b gguf", "gemma 3 4b gguf")


class DownloadPage(QWidget):
    """Shows what the controller tells; downloads go on while other pages are open.

    Signals:
        convert_requested(Path): convert what was downloaded.
    """

    convert_requested = Signal(object)

    def __init__(self, controller: DownloadController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._controller, self._hub = controller, controller.hub
        self._asked_for = ""
        self._found: RepositoryFound | None = None
        self.field = SourceField(
            self.tr("Repository or words"),
            self.tr("qwen3 4b gguf, org/name, org/name:Q4_K_M, or the address of a model"),
            self.tr("Find"),
            takes_paths=False,
        )
        self.empty = EmptyState(
            "download",
            self.tr("Find a model for this machine"),
            self.tr(
                "You see whether it runs and how much context fits before a byte of its weights is "
                "fetched. Files go into the standard Hugging Face cache, resume after anything, "
                "and are verified. Nothing is sent but the requests for them."
            ),
        )
        self.hub_button = QPushButton()
        self.waiting, self.stop_button = QLabel(), QPushButton(self.tr("Stop"))
        self.looking = QWidget()
        self.error, self.token = ErrorCard(), TokenCard()
        self.endpoints, self.queue = EndpointsCard(), QueueView()
        self.results, self.repository = ResultsCard(), RepositoryCard()
        self._answers = (self.empty, self.looking, self.error, self.results, self.repository)
        self._column = PageColumn()
        self._build()
        self._connect()
        self._show_only(self.empty)
        self._on_endpoints_changed()
        self._on_queue_changed()

    def take_over(self, old: DownloadPage) -> None:
        """Shows what `old` shows; a token that was being typed is not taken along."""
        self._hub.story.tell(self._slots)
        self.queue.take_over(old.queue)
        self.field.show_source(old.field.edit.text())
        for card, before in zip(self._answers, old._answers, strict=True):
            card.setVisible(not before.isHidden())
        self.endpoints.setVisible(not old.endpoints.isHidden())
        self._column.take_over(old._column)

    def _show_only(self, *cards: QWidget) -> None:
        """Of the answers to what was asked; the queue stays."""
        for card in self._answers:
            card.setVisible(card in cards)
        self.token.hide()

    def _on_searching(self, words: str) -> None:
        self._show_waiting(words, self.tr("Searching for {name}…"))

    def _on_looking(self, reference: str) -> None:
        self._show_waiting(reference, self.tr("Looking at {name}…"))

    def _show_waiting(self, text: str, words: str) -> None:
        self._asked_for = text
        self.field.show_source(text)
        self.waiting.setText(words.format(name=text))
        self._show_only(self.looking)

    def _on_searched(self, found: RepositoriesFound) -> None:
        self.results.show_results(found)
        self._show_only(self.results)
        if self.results.has_results and self.isVisible():
            self.results.table.setFocus()

    def _on_found(self, found: RepositoryFound) -> None:
        self._found = found
        self.repository.show_repository(found)
        self.repository.back_button.setVisible(self.results.has_results)
        self._refresh_repository()
        self._show_only(self.repository)
        if self.isVisible():
            self.repository.table.setFocus()

    def _on_back_requested(self) -> None:
        self._show_only(self.results)
        self.results.table.setFocus()

    def _on_failed(self, error: ErrorInfo) -> None:
        titles = {
            HubAccessError.__name__: self.tr("No access to {name}"),
            HubSilentError.__name__: self.tr("No answer about {name}"),
            HubBusyError.__name__: self.tr("No answer about {name}"),
        }
        title = titles.get(error.kind, self.tr("{name} was not found"))
        self.error.show_failure(title.format(name=self._asked_for or self.tr("it")), error)
        self._show_only(self.error)
        self._offer_token(error)

    def _on_stopped(self) -> None:
        self._show_only(self.empty)

    def _on_refused(self, error: ErrorInfo) -> None:
        name = self._found.repo_id if self._found else ""
        title = self.tr("{name} was not taken into the list").format(name=name)
        self.error.show_failure(title, error)
        self._show_only(self.error, self.repository)

    def _on_download_failed(self, _key: str, error: ErrorInfo) -> None:
        self._offer_token(error)

    def _offer_token(self, error: ErrorInfo) -> None:
        """Where a token, another one, or the terms of a repository are what is missing."""
        if error.kind != HubAccessError.__name__:
            return
        links = find_links(error.message)
        first = "/".join(links[0].split("/")[:3]) if links else self._hub.asked_endpoints[0]
        self._show_token(first, shown(error.message))

    def _show_token(self, endpoint: str, sentence: str = "") -> None:
        self.token.show_for(endpoint, sentence)
        self.token.show()
        self._hub.ask_token(endpoint)

    def _on_token_saved(self, endpoint: str) -> None:
        """What failed for want of it goes on."""
        if self.error.isVisibleTo(self):
            self._hub.again()
        for entry in self._controller.entries:
            if entry.state is QueueState.FAILED and endpoint in entry.problem:
                self._controller.resume(entry.key)

    def _on_queue_changed(self) -> None:
        self.queue.show_entries(self._controller.entries)
        self._refresh_repository()

    def _on_finished(self, key: str, finished: DownloadFinished) -> None:
        self.queue.show_finished(key, finished)

    def _refresh_repository(self) -> None:
        """How much of it is on this disk by now."""
        found = self._found
        if found is None:
            return
        here = {
            entry.main: entry.done_bytes
            for entry in self._controller.entries
            if entry.commit == found.commit and entry.reference.endswith(found.repo_id)
        }
        models = tuple(
            replace(m, found_bytes=here.get(m.main, m.found_bytes)) for m in found.models
        )
        if models != found.models:
            self._found = replace(found, models=models)
            self.repository.show_found(self._found)

    def _on_endpoints_changed(self) -> None:
        first, *mirrors = self._hub.asked_endpoints
        text = self.tr("Hub: {host}").format(host=first.partition("://")[2])
        more = self.tr(" and {n} more").format(n=len(mirrors)) if mirrors else ""
        self.hub_button.setText(f"{text}{more}…")
        self.endpoints.show_endpoints(self._hub.endpoints, self._hub.asked_endpoints)

    def _on_hub_clicked(self) -> None:
        self.endpoints.setVisible(self.endpoints.isHidden())

    def _on_endpoint_added(self, address: str) -> None:
        try:
            self._hub.add_endpoint(address)
        except UsageError as error:
            self.endpoints.show_problem(shown(error.message))
        else:
            self.endpoints.edit.clear()

    def _on_probe_requested(self) -> None:
        self.endpoints.show_probing()
        self._hub.probe()

    def _build(self) -> None:
        title = QLabel(self.tr("Download"))
        title.setFont(ui_font(1.8, bold=True))
        set_role(self.waiting, "tone", "muted")
        self.waiting.setWordWrap(True)
        self.waiting.setTextFormat(Qt.TextFormat.PlainText)
        self.empty.add_buttons([self._create_example(words) for words in _EXAMPLES])
        set_role(self.hub_button, "kind", "link")
        self.hub_button.setToolTip(self.tr("Which hub is asked, mirrors, speed, tokens"))
        self.endpoints.hide()
        row = QHBoxLayout(self.looking)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.waiting, 1)
        row.addWidget(self.stop_button)
        head = QHBoxLayout()
        head.addWidget(title, 1)
        head.addWidget(self.hub_button)
        rows = self._column.rows
        rows.addLayout(head)
        widgets: tuple[QWidget, ...] = (
            self.field,
            self.endpoints,
            self.looking,
            self.error,
            self.token,
            self.queue,
            self.empty,
            self.results,
            self.repository,
        )
        for widget in widgets:
            rows.addWidget(widget)
        self._column.close_rows()
        self.setTabOrder(self.field.edit, self.field.submit_button)
        self.setTabOrder(self.field.submit_button, self.hub_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._column)

    def _create_example(self, words: str) -> QPushButton:
        button = QPushButton(words)
        button.setToolTip(self.tr("Search for it"))
        button.clicked.connect(lambda _checked=False: self._hub.submit(words))
        return button

    def _connect(self) -> None:
        controller, hub = self._controller, self._hub
        self._slots: Slots = {
            "searching": self._on_searching,
            "looking": self._on_looking,
            "searched": self._on_searched,
            "found": self._on_found,
            "failed": self._on_failed,
            "stopped": self._on_stopped,
        }
        follow(hub, self._slots)
        hub.probed.connect(self.endpoints.show_probe)
        hub.probing_ended.connect(self.endpoints.show_probing_ended)
        hub.token_told.connect(self.token.show_origin)
        hub.token_failed.connect(self.token.show_failed)
        hub.token_saved.connect(self._on_token_saved)
        hub.endpoints_changed.connect(self._on_endpoints_changed)
        controller.queue_changed.connect(self._on_queue_changed)
        controller.progressed.connect(self.queue.show_progress)
        controller.finished.connect(self._on_finished)
        controller.failed.connect(self._on_download_failed)
        controller.refused.connect(self._on_refused)
        self.field.submitted.connect(hub.submit)
        self.stop_button.clicked.connect(hub.stop)
        self.hub_button.clicked.connect(self._on_hub_clicked)
        self.error.retry_requested.connect(hub.again)
        self.results.open_requested.connect(hub.submit)
        self.repository.back_requested.connect(self._on_back_requested)
        self.repository.download_requested.connect(controller.enqueue)
        self._connect_cards()

    def _connect_cards(self) -> None:
        controller, hub = self._controller, self._hub
        self.token.save_requested.connect(hub.save_token)
        self.token.forget_requested.connect(hub.forget_token)
        self.endpoints.first_requested.connect(hub.ask_first)
        self.endpoints.mirror_requested.connect(hub.set_mirror)
        self.endpoints.added.connect(self._on_endpoint_added)
        self.endpoints.probe_requested.connect(self._on_probe_requested)
        self.endpoints.token_requested.connect(self._show_token)
        self.queue.pause_requested.connect(controller.pause)
        self.queue.resume_requested.connect(controller.resume)
        self.queue.remove_requested.connect(controller.remove)
        self.queue.move_requested.connect(controller.move)
        self.queue.convert_requested.connect(self.convert_requested)
