"""Looks at hubs for the window: words searched, repositories judged, tokens and addresses kept."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.controllers.hub_tokens import HubTokens, TokenCommand
from app.controllers.reporting import Reporting
from app.controllers.story import Story
from app.controllers.worker_link import WorkerLink, describe_death
from app.core.download_events import (
    EndpointProbed,
    RepositoriesFound,
    RepositoryFound,
    TokenFailed,
    TokenTold,
)
from app.core.events import ErrorInfo, Event, JobFailed, WorkerDied
from app.core.sentence import Sentence
from app.core.settings_store import SettingsStore
from app.hub.endpoints import asked, normalize, offered
from app.hub.reference import SearchWords, parse_reference
from app.workers.commands import (
    AskToken,
    Command,
    ForgetToken,
    LookUpRepository,
    ProbeEndpoints,
    SaveToken,
    SearchRepositories,
    UseToken,
)

# A question that nobody waits for any more is not waited for.
_STOP_TIMEOUT_S = 0.2
_IDLE_MS = 120_000
# Of each the last: a search stays behind the repositories that are opened from it.
_LATEST = ("searched", "looking", "found", "failed", "stopped")
_DEATH = Sentence("The process that asks the hub ended unexpectedly.")


class HubState(StrEnum):
    """What is asked of a hub."""

    IDLE = "idle"
    SEARCHING = "searching"
    LOOKING = "looking"


class HubController(QObject):
    """Asks hubs in a worker process, which ends when it has had nothing to do for a while.

    `story` tells a page that is built later of the last search and what was opened since.

    Signals (all on the GUI thread):
        state_changed(HubState)
        searching(str), searched(RepositoriesFound): words.
        looking(str), found(RepositoryFound): a repository.
        failed(ErrorInfo): of a search or a look-up.
        stopped(): the user does not wait for the answer.
        probed(EndpointProbed): of `probe`, each; then probing_ended(), whatever ended it.
        token_told(TokenTold), token_failed(TokenFailed)
        token_saved(str): of this hub; what failed for want of it can go on.
        endpoints_changed(): other hubs are asked from now on.
    """

    state_changed = Signal(object)
    searching = Signal(str)
    searched = Signal(object)
    looking = Signal(str)
    found = Signal(object)
    failed = Signal(object)
    stopped = Signal()
    probed = Signal(object)
    probing_ended = Signal()
    token_told = Signal(object)
    token_failed = Signal(object)
    token_saved = Signal(str)
    endpoints_changed = Signal()

    def __init__(
        self, settings: SettingsStore, parent: QObject | None = None, *, service: str = "hub"
    ) -> None:
        super().__init__(parent)
        self.story = Story(self, ("searching", *_LATEST), beginnings=("searching",), latest=_LATEST)
        self._settings = settings
        self._state = HubState.IDLE
        self._last: Command | None = None
        self._num_probes = 0
        self._tokens = HubTokens()
        self._link = WorkerLink(service, self)
        self._link.event_received.connect(self._on_link_event_received)
        self._idle_timer = QTimer(self, singleShot=True, interval=_IDLE_MS)
        self._idle_timer.timeout.connect(self._on_idle_timeout)

    @property
    def state(self) -> HubState:
        """The state last told by `state_changed`."""
        return self._state

    @property
    def session_tokens(self) -> tuple[UseToken, ...]:
        """Tokens that no keyring keeps, as commands for another worker."""
        return self._tokens.session

    @property
    def endpoints(self) -> tuple[str, ...]:
        """All hubs that can be chosen; `asked_endpoints` first."""
        return offered(self._settings.values)

    @property
    def asked_endpoints(self) -> tuple[str, ...]:
        """The hub that is asked, and those that stand in for it."""
        return asked(self._settings.values)

    def submit(self, text: str) -> None:
        """Looks a repository up, or searches for words: whichever `text` is."""
        with Reporting(self.failed):
            is_words = isinstance(parse_reference(text), SearchWords)
            self._ask(SearchRepositories(text) if is_words else LookUpRepository(text))

    def again(self) -> None:
        """Asks the last question once more."""
        if self._last is not None:
            self._ask(self._last)

    def stop(self) -> None:
        """Does not wait for the answer any more."""
        if self._state is not HubState.IDLE:
            self._drop_questions()
            self._set_state(HubState.IDLE)
            self.stopped.emit()

    def probe(self) -> None:
        """Reads a little of every hub; answered by `probed` for each."""
        self._num_probes = len(self.endpoints)
        self._send(ProbeEndpoints(self.endpoints))

    def ask_token(self, endpoint: str) -> None:
        """Answered by `token_told` or `token_failed`."""
        self._ask_about_token(AskToken(endpoint))

    def save_token(self, endpoint: str, token: str) -> None:
        """Keeps a token for this hub alone; answered by `token_told` and `token_saved`, or by
        `token_failed`.
        """
        self._ask_about_token(SaveToken(endpoint, token))

    def forget_token(self, endpoint: str) -> None:
        """Removes what was saved; answered by `token_told` or `token_failed`."""
        self._ask_about_token(ForgetToken(endpoint))

    def ask_first(self, endpoint: str) -> None:
        """Makes this the hub that is asked."""
        mirrors = [e for e in self.asked_endpoints[1:] if e != endpoint]
        self._change(endpoint, mirrors)

    def set_mirror(self, endpoint: str, is_asked: bool) -> None:
        """Whether this hub stands in where the first does not answer."""
        first, *mirrors = self.asked_endpoints
        mirrors = [e for e in mirrors if e != endpoint] + ([endpoint] if is_asked else [])
        self._change(first, [e for e in mirrors if e != first])

    def add_endpoint(self, address: str) -> None:
        """Another hub, to stand in at first; raises UsageError for what is no address."""
        self.set_mirror(normalize(address), is_asked=True)

    def shutdown(self) -> None:
        """Ends the worker process and waits; call once before the application quits."""
        self._idle_timer.stop()
        self._link.shutdown(_STOP_TIMEOUT_S)

    def _change(self, first: str, mirrors: list[str]) -> None:
        self._settings.update(hub_endpoint=first, hub_mirrors=" ".join(mirrors))
        self.endpoints_changed.emit()

    def _ask(self, command: Command) -> None:
        if self._state is not HubState.IDLE or self._num_probes:
            self._drop_questions()
        self._last = command
        if isinstance(command, SearchRepositories):
            self.searching.emit(command.words)
            self._set_state(HubState.SEARCHING)
        elif isinstance(command, LookUpRepository):
            self.looking.emit(command.reference)
            self._set_state(HubState.LOOKING)
        self._send(command)

    def _end_probing(self) -> None:
        if self._num_probes:
            self._num_probes = 0
            self.probing_ended.emit()

    def _drop_questions(self) -> None:
        self._end_probing()
        self._link.end(_STOP_TIMEOUT_S)
        for command in self._tokens.unanswered:
            self._send(command)

    def _ask_about_token(self, command: TokenCommand) -> None:
        self._tokens.ask(command)
        self._send(command)

    def _send(self, command: Command) -> None:
        self._idle_timer.stop()
        if self._link.is_fresh:
            for use in self.session_tokens:
                self._link.send(use)
        self._link.send(command)

    def _set_state(self, state: HubState) -> None:
        if state is not self._state:
            self._state = state
            self.state_changed.emit(state)

    @Slot(object)
    def _on_link_event_received(self, event: Event) -> None:
        self._idle_timer.start()
        match event:
            case RepositoriesFound():
                self._set_state(HubState.IDLE)
                self.searched.emit(event)
            case RepositoryFound():
                self._set_state(HubState.IDLE)
                self.found.emit(event)
            case EndpointProbed():
                self.probed.emit(event)
                if self._num_probes > 1:
                    self._num_probes -= 1
                else:
                    self._end_probing()
            case TokenTold():
                self._receive_token(event)
            case TokenFailed():
                self._tokens.drop(event.endpoint)
                self.token_failed.emit(event)
            case JobFailed():
                self._fail(event.error)
            case WorkerDied():
                self._receive_death(event)

    def _receive_token(self, told: TokenTold) -> None:
        command = self._tokens.receive(told)
        self.token_told.emit(told)
        if isinstance(command, SaveToken):
            self.token_saved.emit(told.endpoint)

    def _receive_death(self, event: WorkerDied) -> None:
        error = describe_death(event, _DEATH)
        for command in self._tokens.unanswered:
            self._tokens.drop(command.endpoint)
            self.token_failed.emit(TokenFailed(command.endpoint, error))
        self._fail(error)

    def _fail(self, error: ErrorInfo) -> None:
        self._end_probing()
        if self._state is not HubState.IDLE:
            self._set_state(HubState.IDLE)
            self.failed.emit(error)

    def _on_idle_timeout(self) -> None:
        if self._state is HubState.IDLE and not self._num_probes:
            self._link.end()
