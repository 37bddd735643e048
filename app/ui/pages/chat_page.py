"""The Chat page: binds the chat controller to the conversations, the transcript and the panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.chat.transcript import Conversation, Turn
from app.controllers.chat import ChatController
from app.controllers.chat_state import ChatState
from app.controllers.context_meter import ContextMeter, ContextUse
from app.controllers.presets import Presets
from app.core.events import ErrorInfo, LoadedModel, PrefillProgressed
from app.ui.chat_draft import hand_over
from app.ui.dialogs.conversation_exchange import ConversationExchange
from app.ui.dialogs.file_attacher import FileAttacher
from app.ui.pages.page import Page
from app.ui.preset_keeper import PresetKeeper
from app.ui.side_columns import SideColumns
from app.ui.turn_remover import TurnRemover
from app.ui.widgets.chat_banners import ChatBanners
from app.ui.widgets.chat_top_bar import ChatTopBar
from app.ui.widgets.composer import Composer
from app.ui.widgets.conversation_panel import ConversationPanel
from app.ui.widgets.empty_chat import EmptyChat
from app.ui.widgets.side_panel import SidePanel
from app.ui.widgets.transcript_view import TranscriptView

if TYPE_CHECKING:
    from app.hub.library import LibraryEntry

_COMPOSER_WIDTH = 780


class ChatPage(Page):
    """Shows the state that the controller tells; keeps none of its own but what is on screen.

    Signals:
        pick_requested: choose a model file to convert.
        starter_requested: convert the starter model.
        model_requested(Path): load this checkpoint.
    """

    pick_requested = Signal()
    starter_requested = Signal()
    model_requested = Signal(object)

    def __init__(
        self,
        controller: ChatController,
        presets: Presets,
        *,
        has_starter: bool,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._controller = controller
        self._presets = presets
        self._entries: tuple[LibraryEntry, ...] = ()
        self.conversations = ConversationPanel()
        self.top_bar = ChatTopBar()
        self._columns = SideColumns(self.top_bar)
        self.banners = ChatBanners()
        self.transcript = TranscriptView()
        self.empty = EmptyChat(has_starter=has_starter)
        self.composer = Composer()
        self.panel = SidePanel()
        self.exchange = ConversationExchange(controller.list, self)
        self.meter = ContextMeter(controller.engine, self)
        self.attacher = FileAttacher(self.composer)
        self._keeper = PresetKeeper(presets, self.panel.sampling)
        TurnRemover(controller, self.transcript, self.banners, self._on_open_requested)
        self._stack = QStackedWidget()
        self.first = self.composer
        self._build()
        self._connect_widgets()
        self._connect_controller()
        self._on_state_changed(controller.state)

    # --- commands ------------------------------------------------------------------------------

    def start(self) -> None:
        """What waits for the first paint: the list, an empty conversation, the plots."""
        self.new_conversation()
        self._on_conversations_changed()
        self.panel.live.start()

    def take_over(self, old: ChatPage) -> None:
        """Shows what `old` shows: the same conversation, and what is being written."""
        self._columns.take_over(old._columns)
        self.set_entries(old._entries)
        self._keeper.show_model(self._model_name)
        self._on_conversation_opened(self._controller.conversation)
        hand_over(old, self)
        self._on_conversations_changed()
        self._measure_context()
        self.panel.live.start()

    def shutdown(self) -> None:
        """Waits for what runs in the background."""
        self.panel.live.shutdown()
        self.attacher.reader.shutdown()

    def new_conversation(self) -> None:
        """Opens an empty conversation with what is kept for the model."""
        self.panel.sampling.flush()
        preset = self._presets.find(self._model_name)
        self._controller.new_conversation(
            system_prompt=preset.system_prompt, sampling=preset.sampling
        )
        self.composer.setFocus()

    def stop_reply(self) -> None:
        """Stops the running reply, if there is one."""
        if self._controller.state is ChatState.GENERATING:
            self._controller.stop()

    def regenerate(self) -> None:
        """Asks for another last reply."""
        self.panel.sampling.flush()
        self._controller.regenerate()

    def continue_reply(self) -> None:
        """Lets the last reply go on."""
        self._controller.continue_reply()

    def show_model_menu(self) -> None:
        """Opens the model picker."""
        self.top_bar.picker.showMenu()

    def focus_search(self) -> None:
        """Brings the search of the conversation list to the fore."""
        self.top_bar.conversations_button.setChecked(True)
        self.conversations.search_field.setFocus()

    def set_entries(self, entries: Sequence[LibraryEntry]) -> None:
        """What the library holds now."""
        self._entries = tuple(entries)
        self.top_bar.picker.set_entries(entries)
        self._update_empty()

    def toggle_conversations(self) -> None:
        """Shows or hides the left column."""
        self.top_bar.conversations_button.toggle()

    def toggle_panel(self) -> None:
        """Shows or hides the right column."""
        self.top_bar.panel_button.toggle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.panel.fit(event.size().width())
        self._columns.fit(event.size().width())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._columns.fit_again()

    # --- the controller's signals ----------------------------------------------------------------

    def _on_state_changed(self, state: ChatState) -> None:
        self.top_bar.set_state(state, self._controller.model)
        can_ask = state is ChatState.READY and not self._controller.list.is_read_only
        self.transcript.set_can_ask(can_ask)
        self.composer.set_state(
            can_send=can_ask,
            is_running=state is ChatState.GENERATING,
            placeholder=self._placeholder(state),
        )
        if state in (ChatState.LOADING, ChatState.READY):
            self.banners.clear_worker()
        self._update_empty()

    def _on_model_loaded(self, model: LoadedModel) -> None:
        self.banners.clear_errors()
        self.banners.show_model(model)
        self._on_state_changed(self._controller.state)
        self._keeper.show_model(model.name)
        if not self._controller.conversation.turns:
            self.new_conversation()
        self._measure_context()
        if self.isVisible():
            self.composer.setFocus()

    def _on_conversations_changed(self) -> None:
        self.conversations.show_folders(self._controller.list.folders())
        query, folder = self.conversations.query, self.conversations.folder
        rows = self._controller.list.conversations(query, folder)
        self.conversations.show_conversations(rows, self._open_id)

    def _on_conversation_opened(self, conversation: Conversation) -> None:
        self.banners.clear_failed_reply()
        self.transcript.show_turns(conversation.turns)
        if self._controller.replying_conversation_id == conversation.conversation_id:
            self.transcript.begin_reply(self._model_name, self._controller.reply_text)
        self.panel.sampling.show_settings(conversation.system_prompt, conversation.sampling)
        self.conversations.select(conversation.conversation_id)
        self.composer.hide_context()
        self._measure_context()
        self._update_empty()

    def _measure_context(self) -> None:
        draft = self.composer.edit.toPlainText()
        conversation, overflow = self._controller.conversation, self._controller.overflow
        self.meter.update(conversation, draft, overflow, self.composer.files.attachments)

    def _on_context_measured(self, use: ContextUse) -> None:
        self.composer.show_context(use.num_tokens, use.max_model_len)
        self.transcript.mark_context(use.first_kept_turn)

    def _on_turn_added(self, conversation_id: str, turn: Turn) -> None:
        if conversation_id == self._open_id:
            self.transcript.add_turn(turn)
            self._update_empty()

    def _on_turn_removed(self, conversation_id: str, turn_id: int) -> None:
        if conversation_id == self._open_id:
            self.transcript.remove_turn(turn_id)

    def _on_reply_started(self, conversation_id: str) -> None:
        self.banners.clear_failed_reply()
        if conversation_id == self._open_id:
            self.transcript.begin_reply(self._model_name, self._controller.reply_text)
            self._update_empty()

    def _on_prefill_progressed(self, progress: PrefillProgressed) -> None:
        tok_s = self.panel.live.show_prefill(progress)
        if self._controller.replying_conversation_id == self._open_id:
            self.transcript.show_prefill(progress, tok_s)

    def _on_text_appended(self, conversation_id: str, text: str) -> None:
        if conversation_id == self._open_id:
            self.transcript.append_text(text)

    def _on_reply_finished(self, conversation_id: str, turn: Turn) -> None:
        self.panel.live.end_reply()
        if conversation_id == self._open_id:
            self.transcript.finish_reply(turn)
            self._measure_context()

    def _on_reply_failed(self, conversation_id: str, error: ErrorInfo) -> None:
        self.panel.live.end_reply()
        if conversation_id == self._open_id:
            self.transcript.drop_reply()
        self.banners.show_failed_reply(error)

    # --- the widgets' signals --------------------------------------------------------------------

    def _on_submitted(self, text: str) -> None:
        self.panel.sampling.flush()
        if self._controller.send(text, self.composer.files.attachments):
            self.composer.clear()

    def _on_edited(self, turn_id: int, text: str) -> None:
        self.panel.sampling.flush()
        self._controller.edit(turn_id, text)

    def _on_open_requested(self, conversation_id: str) -> None:
        self.panel.sampling.flush()
        self._controller.open_conversation(conversation_id, self.conversations.query)

    def _on_delete_requested(self, conversation_id: str) -> None:
        if self._controller.delete_conversation(conversation_id):
            self.banners.show_deleted(conversation_id)

    def _on_retry_requested(self) -> None:
        self.banners.clear_errors()
        self.regenerate()

    def _on_restart_requested(self) -> None:
        self.banners.clear_worker()
        self._controller.restart()

    # --- helpers ---------------------------------------------------------------------------------

    @property
    def _open_id(self) -> str:
        return self._controller.conversation.conversation_id

    @property
    def _model_name(self) -> str:
        model = self._controller.model
        return model.name if model else ""

    def _placeholder(self, state: ChatState) -> str:
        if self._controller.list.is_read_only:
            return self.tr("Conversations of a newer version can only be read here")
        texts = {
            ChatState.LOADING: self.tr("The model is loading; write already"),
            ChatState.READY: self.tr("Message {name}").format(name=self._model_name),
            ChatState.GENERATING: self.tr("Write the next message meanwhile"),
            ChatState.DOWN: self.tr("The engine has stopped; restart it above"),
        }
        return texts.get(state, self.tr("Choose a model first (Ctrl+L)"))

    def _update_empty(self) -> None:
        is_empty = not self.transcript.cards
        self._stack.setCurrentWidget(self.empty if is_empty else self.transcript)
        if is_empty:
            self.empty.show_next(self._controller.state, self._controller.model, self._entries)

    def _build(self) -> None:
        self.conversations.setFixedWidth(256)
        centre = QVBoxLayout()
        centre.setContentsMargins(0, 0, 0, 0)
        centre.setSpacing(0)
        centre.addWidget(self.top_bar)
        centre.addWidget(self.banners)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.transcript)
        centre.addWidget(self._stack, 1)
        centre.addLayout(self._create_composer_row())
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.conversations)
        row.addLayout(centre, 1)
        row.addWidget(self.panel)

    def _create_composer_row(self) -> QHBoxLayout:
        self.composer.setMaximumWidth(_COMPOSER_WIDTH)
        row = QHBoxLayout()
        row.setContentsMargins(24, 4, 24, 16)
        row.addStretch(1)
        row.addWidget(self.composer, 1000)
        row.addStretch(1)
        return row

    def _connect_widgets(self) -> None:
        self.banners.restart_requested.connect(self._on_restart_requested)
        self.banners.retry_requested.connect(self._on_retry_requested)
        self.banners.undo_requested.connect(self._controller.list.restore)
        self.composer.submitted.connect(self._on_submitted)
        self.composer.stop_requested.connect(self.stop_reply)
        self.composer.edit.textChanged.connect(self._measure_context)
        self.composer.files.changed.connect(self._measure_context)
        self.attacher.failed.connect(self.banners.show_error)
        self.meter.measured.connect(self._on_context_measured)
        self.transcript.regenerate_requested.connect(self.regenerate)
        self.transcript.edited.connect(self._on_edited)
        self.transcript.continue_requested.connect(self._controller.continue_reply)
        self.transcript.version_requested.connect(self._controller.show_version)
        self.top_bar.conversations_toggled.connect(self.conversations.setVisible)
        self.top_bar.panel_toggled.connect(self.panel.setVisible)
        self.top_bar.picker.model_requested.connect(self.model_requested)
        self.top_bar.picker.convert_requested.connect(self.pick_requested)
        self.top_bar.picker.unload_requested.connect(self._controller.unload_model)
        self.empty.pick_requested.connect(self.pick_requested)
        self.empty.starter_requested.connect(self.starter_requested)
        self.empty.model_requested.connect(self.model_requested)
        self.empty.suggestion_chosen.connect(self.composer.set_text)
        self.panel.sampling.sampling_changed.connect(self._controller.set_sampling)
        self.panel.sampling.system_prompt_changed.connect(self._controller.set_system_prompt)
        self._presets.failed.connect(self.banners.show_error)
        self.conversations.new_requested.connect(self.new_conversation)
        self.conversations.open_requested.connect(self._on_open_requested)
        self.conversations.rename_requested.connect(self._controller.rename_conversation)
        self.conversations.delete_requested.connect(self._on_delete_requested)
        self.conversations.search_changed.connect(self._on_conversations_changed)
        self.conversations.pin_requested.connect(self._controller.list.pin)
        self.conversations.move_requested.connect(self._controller.list.move)
        self.exchange.connect_panel(self.conversations)

    def _connect_controller(self) -> None:
        controller = self._controller
        controller.state_changed.connect(self._on_state_changed)
        controller.model_loaded.connect(self._on_model_loaded)
        controller.conversations_changed.connect(self._on_conversations_changed)
        controller.list.imported.connect(controller.open_conversation)
        controller.list.exported.connect(self.banners.show_exported)
        controller.conversation_opened.connect(self._on_conversation_opened)
        controller.turn_added.connect(self._on_turn_added)
        controller.turn_removed.connect(self._on_turn_removed)
        controller.reply_started.connect(self._on_reply_started)
        controller.prefill_progressed.connect(self._on_prefill_progressed)
        controller.text_appended.connect(self._on_text_appended)
        controller.tokens_per_second.connect(self.panel.live.add_rate)
        controller.reply_finished.connect(self._on_reply_finished)
        controller.reply_failed.connect(self._on_reply_failed)
        controller.memory_sampled.connect(self.panel.live.add_memory)
        controller.failed.connect(self.banners.show_error)
        controller.worker_died.connect(self.banners.show_worker_died)
        controller.worker_unresponsive.connect(self.banners.show_worker_unresponsive)
        controller.worker_recovered.connect(self.banners.clear_worker)
