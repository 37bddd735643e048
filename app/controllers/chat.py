"""A prompt becomes text in the window: commands to the engine's process, its events to the page."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal, Slot

from app.chat.attachments import Attachment
from app.chat.store import ChatStore
from app.chat.transcript import Conversation, Turn, TurnStats
from app.controllers.chat_engine import ChatEngine
from app.controllers.chat_request import create_request, to_stats
from app.controllers.chat_state import ChatState, death_sentence, to_chat_state
from app.controllers.conversation_list import ConversationList
from app.controllers.open_conversation import OpenConversation
from app.controllers.remote_link import ConnectRemote
from app.controllers.replies import Replies
from app.controllers.reply import RunningReply
from app.controllers.reporting import Reporting
from app.core.events import (
    EngineStateChanged,
    ErrorInfo,
    Event,
    LoadedModel,
    MemorySampled,
    PrefillProgressed,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    WorkerDied,
    WorkerRecovered,
    WorkerUnresponsive,
)
from app.core.sampling_settings import SamplingSettings
from app.engine.request import OverflowPolicy
from app.workers.commands import CancelRequest, LoadModel, SubmitRequest, UnloadModel


class ChatController(QObject):
    """Commands in, signals out. One reply at a time; it goes on when another conversation opens.

    Signals (all on the GUI thread; conversation ids are str):
        state_changed(ChatState)
        model_loaded(LoadedModel)
        conversations_changed(): the list (`list.conversations()`) is to be read again.
        conversation_opened(Conversation): show this one, whole.
        turn_added(conversation_id, Turn): the user's message, after `send`.
        turn_removed(conversation_id, turn_id: int): the reply that `regenerate` makes again.
        reply_started(conversation_id): an empty reply begins.
        prefill_progressed(PrefillProgressed)
        text_appended(conversation_id, str): new text, at most about 30 times a second.
        tokens_per_second(float): over the last second, a few times a second while a reply runs.
        reply_finished(conversation_id, Turn): the reply as saved, with its statistics;
            `is_interrupted` when the worker died. The last signal of a reply that was not refused.
        reply_failed(conversation_id, ErrorInfo): the reply was refused or failed before any text;
            no turn remains.
        memory_sampled(MemorySampled)
        failed(ErrorInfo): loading failed, a reply broke off, or something could not be saved.
        worker_died(str, Path | None): one sentence, and what was kept of its end; `restart()`
            starts the engine again and reloads the model.
        worker_unresponsive(float): seconds without a sign of life; `restart()` helps here, too.
        worker_recovered(): it gives signs of life again.
    """

    state_changed = Signal(object)
    model_loaded = Signal(object)
    conversations_changed = Signal()
    conversation_opened = Signal(object)
    turn_added = Signal(str, object)
    turn_removed = Signal(str, int)
    reply_started = Signal(str)
    prefill_progressed = Signal(object)
    text_appended = Signal(str, str)
    tokens_per_second = Signal(float)
    reply_finished = Signal(str, object)
    reply_failed = Signal(str, object)
    memory_sampled = Signal(object)
    failed = Signal(object)
    worker_died = Signal(object, object)
    worker_unresponsive = Signal(float)
    worker_recovered = Signal()

    def __init__(
        self, store: ChatStore, parent: QObject | None = None, *, service: str = "engine"
    ) -> None:
        """`store` is open (`ChatStore.open(path)`), its `notice` the window's to show; `shutdown`
        closes it."""
        super().__init__(parent)
        self._store = store
        self._state = ChatState.UNLOADED
        self._model: LoadedModel | None = None
        self.last_load: LoadModel | ConnectRemote | None = None
        self.overflow = OverflowPolicy.DROP_OLDEST
        self._open = OpenConversation.create(store, "", SamplingSettings())
        self.replies = Replies(store, self)
        self.replies.text_appended.connect(self.text_appended)
        self.replies.tokens_per_second.connect(self.tokens_per_second)
        self.replies.failed.connect(self.failed)
        self.list = ConversationList(store, self)
        self.list.changed.connect(self.conversations_changed)
        self.list.failed.connect(self.failed)
        self.engine = ChatEngine(service, self)
        self.engine.event_received.connect(self._on_engine_event_received)

    # --- the engine --------------------------------------------------------------------------

    @property
    def state(self) -> ChatState:
        """The state last told by `state_changed`."""
        return self._state

    @property
    def model(self) -> LoadedModel | None:
        """The model that answers; None when none is loaded."""
        return self._model

    @property
    def worker_pid(self) -> int | None:
        """The engine's process id; None when there is none."""
        return self.engine.local.pid

    def load(self, command: LoadModel | ConnectRemote) -> None:
        """Loads a native checkpoint in place of the present model, starting the worker if need be,
        or lets a server somewhere else answer; answered by `model_loaded` or `failed`."""
        self.last_load = command
        if self._state is ChatState.FAILED:
            self.engine.end()  # after a fault of a card its process cannot use it any more
        self._set_state(ChatState.LOADING)
        self.engine.send(command)

    def unload_model(self) -> None:
        """Gives the model's memory back; no effect without a model."""
        if self._model is not None:
            self._set_state(ChatState.UNLOADING)
            self.engine.send(UnloadModel())

    def restart(self) -> None:
        """Ends the worker, if it still lives, starts a fresh one and loads the last model again."""
        if self._state is not ChatState.DOWN:  # then it is gone; the port may have a new one
            self.engine.end(timeout_s=0)
        self._model = None
        if self.last_load is None:
            self._set_state(ChatState.UNLOADED)
        else:
            self.load(self.last_load)
        self._interrupt_reply()

    def shutdown(self) -> None:
        """Saves what a running reply has, ends the worker process and waits for it, closes the
        store; call once before the application quits."""
        self._interrupt_reply()
        self.engine.shutdown()
        self.list.shutdown()
        self._store.close()

    # --- conversations -----------------------------------------------------------------------

    @property
    def conversation(self) -> Conversation:
        """The open one; a running reply appears in it when it has ended."""
        return self._open.value

    @property
    def replying_conversation_id(self) -> str | None:
        """The conversation that a reply is running in."""
        return self.replies.running.conversation_id if self.replies.running else None

    @property
    def reply_text(self) -> str:
        """What was told of the running reply, for a page that opens its conversation again."""
        return self.replies.running.told_text if self.replies.running else ""

    def new_conversation(
        self, *, system_prompt: str = "", sampling: SamplingSettings | None = None
    ) -> None:
        """Opens an empty conversation; it is saved with its first message."""
        self._show(
            OpenConversation.create(self._store, system_prompt, sampling or SamplingSettings())
        )

    def open_conversation(self, conversation_id: str, query: str = "") -> None:
        """Opens a saved conversation, where `query` is found; answered by `conversation_opened` or
        `failed`. While a reply runs in it, its versions stay as they are."""
        with Reporting(self.failed):
            if query and conversation_id != self.replying_conversation_id:
                self._store.show_found(conversation_id, query)
            opened = OpenConversation.load(self._store, conversation_id)
            if self.replies.running is not None:
                opened.leave_out(self.replies.running.writer.turn_id)
            self._show(opened)

    def rename_conversation(self, conversation_id: str, title: str) -> None:
        """Renames; answered by `conversations_changed`."""
        with Reporting(self.failed):
            if conversation_id == self.conversation.conversation_id:
                self._open.set_title(title)
            else:
                self._store.rename_conversation(conversation_id, title)
            self.conversations_changed.emit()

    def delete_conversation(self, conversation_id: str) -> bool:
        """Hides it from the list, of which `list.restore` is the undo; whether that succeeded. A
        reply in it is stopped, and a new conversation takes its place when it was open."""
        is_deleted = False
        with Reporting(self.failed):
            self._store.delete_conversation(conversation_id)
            is_deleted = True
            if conversation_id == self.replying_conversation_id:
                self.stop()
            self.engine.forget(conversation_id)  # behind the stop, which leaves something to forget
            self.conversations_changed.emit()
            if conversation_id == self.conversation.conversation_id:
                value = self.conversation
                self.new_conversation(system_prompt=value.system_prompt, sampling=value.sampling)
        return is_deleted

    def set_system_prompt(self, text: str) -> None:
        """Sets the open conversation's system prompt, from the next message on."""
        with Reporting(self.failed):
            self._open.set_system_prompt(text)

    def set_sampling(self, sampling: SamplingSettings) -> None:
        """Sets the open conversation's sampling, from the next message on."""
        with Reporting(self.failed):
            self._open.set_sampling(sampling)

    def _show(self, opened: OpenConversation) -> None:
        self._open = opened
        self.conversation_opened.emit(opened.value)

    # --- replies -----------------------------------------------------------------------------

    def send(self, text: str, attachments: Sequence[Attachment] = ()) -> bool:
        """Saves the user's message and asks for a reply; whether it was taken: not unless READY,
        not when it is blank or cannot be saved."""
        is_taken = False
        if self._state is ChatState.READY and (text.strip() or attachments):
            with Reporting(self.failed):
                turn = self._open.add_user_turn(text, attachments)
                is_taken = True
                self.turn_added.emit(self.conversation.conversation_id, turn)
                self._begin_reply()
                self.conversations_changed.emit()
        return is_taken

    def stop(self) -> None:
        """Stops the running reply within one token; it ends with `reply_finished`."""
        if self.replies.running is not None:
            self.engine.send(CancelRequest(self.replies.running.request_id))

    def regenerate(self) -> None:
        """Replaces the last reply of the open conversation, or asks for the one that failed;
        no effect unless READY and a message is there to reply to."""
        if self._state is not ChatState.READY or not self.conversation.turns:
            return
        last = self.conversation.turns[-1]
        with Reporting(self.failed):
            self._begin_reply(replaced=None if last.role == "user" else last)

    def continue_reply(self) -> None:
        """Lets the last reply go on where it ends; no effect unless READY and there is one."""
        turns = self.conversation.turns
        if self._state is ChatState.READY and turns and turns[-1].role == "assistant":
            with Reporting(self.failed):
                self._begin_reply(continued=turns[-1])

    def edit(self, turn_id: int, text: str) -> None:
        """Asks for a reply to another version of a message of the open conversation; no effect
        unless READY and not blank. What followed stays, as the older version's."""
        if self._state is not ChatState.READY or not text.strip():
            return
        with Reporting(self.failed):
            self._open.add_version(turn_id, text)
            self.conversation_opened.emit(self.conversation)
            self._begin_reply()
            self.conversations_changed.emit()

    def show_version(self, turn_id: int, steps: int) -> None:
        """Shows the version `steps` behind a turn of the open conversation, and what followed it;
        no effect while a reply runs in it."""
        if self.replying_conversation_id == self.conversation.conversation_id:
            return
        with Reporting(self.failed):
            self._open.show_version(turn_id, steps)
            self.conversation_opened.emit(self.conversation)

    def _begin_reply(self, replaced: Turn | None = None, continued: Turn | None = None) -> None:
        value = self._open.without(replaced.turn_id) if replaced else self.conversation
        conversation_id = value.conversation_id
        request = create_request(value, self.overflow, continues_reply=continued is not None)
        if continued is None:
            model_name = self._model.name if self._model else ""
            self.replies.begin(conversation_id, request.request_id, model_name, replaced)
        else:
            self.replies.go_on(conversation_id, request.request_id, continued)
        if hidden := replaced or continued:
            self._open.leave_out(hidden.turn_id)
            self.turn_removed.emit(conversation_id, hidden.turn_id)
        self._set_state(ChatState.GENERATING)
        self.reply_started.emit(conversation_id)
        self.engine.send(SubmitRequest(request))

    def _finish_reply(self, reply: RunningReply, stats: TurnStats | None) -> None:
        """`stats` None: interrupted."""
        turn = self.replies.finish(reply, stats)
        if reply.conversation_id == self.conversation.conversation_id:
            self._open.add(turn)
        self._leave_generating()
        self.reply_finished.emit(reply.conversation_id, turn)
        self.conversations_changed.emit()

    def _fail_reply(self, reply: RunningReply, error: ErrorInfo) -> None:
        if reply.text:
            self._finish_reply(reply, None)
            self.failed.emit(error)
            return
        with Reporting(self.failed):
            self.replies.discard(reply)
        self._leave_generating()
        self._show_discarded(reply)
        self.reply_failed.emit(reply.conversation_id, error)

    def _show_discarded(self, reply: RunningReply) -> None:
        """The version that a failed reply was to replace is there again."""
        with Reporting(self.failed):
            if reply.conversation_id == self._open.value.conversation_id and self._open.reload():
                self.conversation_opened.emit(self.conversation)

    def _interrupt_reply(self) -> None:
        if self.replies.running is not None:
            self._finish_reply(self.replies.running, None)

    def _leave_generating(self) -> None:
        if self._state is ChatState.GENERATING:
            self._set_state(ChatState.READY)

    # --- events ------------------------------------------------------------------------------
    @Slot(object)
    def _on_engine_event_received(self, event: Event) -> None:
        match event:
            case TokensGenerated() | PrefillProgressed() | RequestFinished() | RequestFailed():
                reply = self.replies.running
                if reply is not None and event.request_id == reply.request_id:
                    self._receive_reply_event(event, reply)
            case EngineStateChanged():
                self._receive_state(event)
            case MemorySampled():
                self.memory_sampled.emit(event)
            case WorkerDied():
                self._receive_death(event)
            case WorkerUnresponsive():
                self.worker_unresponsive.emit(event.silent_s)
            case WorkerRecovered():
                self.worker_recovered.emit()

    def _receive_reply_event(self, event: Event, reply: RunningReply) -> None:
        match event:
            case TokensGenerated():
                reply.add(event)
            case PrefillProgressed():
                self.prefill_progressed.emit(event)
            case RequestFinished():
                self._finish_reply(reply, to_stats(event))
            case RequestFailed():
                self._fail_reply(reply, event.error)

    def _receive_state(self, event: EngineStateChanged) -> None:
        state = to_chat_state(event, is_replying=self.replies.running is not None)
        self._model = event.model or (self._model if state is ChatState.GENERATING else None)
        self._set_state(state)
        if event.model is not None:
            self.model_loaded.emit(event.model)
        if event.error is not None:
            self.failed.emit(event.error)
        if state is ChatState.UNLOADED:
            self.engine.release()

    def _receive_death(self, event: WorkerDied) -> None:
        had_text = self.replies.running is not None and bool(self.replies.running.text)
        self._model = None
        self._set_state(ChatState.DOWN)
        self._interrupt_reply()
        sentence = death_sentence(event.exit_code, had_text=had_text)
        self.worker_died.emit(sentence, event.report)

    def _set_state(self, state: ChatState) -> None:
        if state is not self._state:
            self._state = state
            self.state_changed.emit(state)
