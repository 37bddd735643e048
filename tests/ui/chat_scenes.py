"""The Chat page in its states (`tests.ui.scenes`)."""

from __future__ import annotations

import time

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication

from app.core.errors import ContextLengthError
from app.core.events import (
    EngineState,
    EngineStateChanged,
    ErrorInfo,
    Event,
    FinishReason,
    MemorySampled,
    PrefillProgressed,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    Usage,
    WorkerDied,
)
from app.gui import Program
from app.ui.widgets.collapsible import Collapsible
from app.ui.widgets.live_panel import LivePanel
from tests.ui.download_samples import GIB
from tests.ui.scene_samples import (
    ENTRIES,
    LONG_NAME,
    MACHINE,
    MIB,
    MODEL,
    SHORT,
    TURNS,
)


def tell_engine(program: Program, *events: Event) -> None:
    engine = program.controllers.chat.engine
    for event in events:
        engine.event_received.emit(event)


# --- Chat --------------------------------------------------------------------------------------


def chat_first_run(program: Program) -> None:
    program.window.show_page(program.window.chat_page)
    program.controllers.machine.report = MACHINE
    program.controllers.machine.described.emit(MACHINE)


def chat_choose_a_model(program: Program) -> None:
    program.window.chat_page.set_entries(ENTRIES)


def chat_model_menu(program: Program) -> None:
    picker = program.window.chat_page.top_bar.picker
    menu = picker.menu()
    menu.popup(picker.mapToGlobal(QPoint(0, picker.height())))


def chat_loading(program: Program) -> None:
    tell_engine(program, EngineStateChanged(EngineState.LOADING))


def chat_load_failed(program: Program) -> None:
    tell_engine(program, EngineStateChanged(EngineState.FAILED, error=SHORT))


def chat_ready(program: Program) -> None:
    tell_engine(program, EngineStateChanged(EngineState.READY, MODEL))
    store = program.store
    for name in ("Sorting, compared", LONG_NAME, "为什么天空是蓝色的?请用两句话解释一下"):
        made = store.create_conversation(name)
        store.append_turn(made.conversation_id, "user", name)
    program.controllers.chat.conversations_changed.emit()


def chat_conversation(program: Program) -> None:
    page = program.window.chat_page
    page.transcript.show_turns(TURNS)
    page._update_empty()
    page.composer.show_context(7_700, 8_192)
    page.composer.set_text("Write a longer answer, please")
    _fill_plots(page.panel.live)
    while page.transcript._work.is_running:
        QApplication.processEvents()
    page.transcript.verticalScrollBar().setValue(0)


def chat_conversation_end(program: Program) -> None:
    transcript = program.window.chat_page.transcript
    transcript.cards[1].findChildren(Collapsible)[0].button.click()
    transcript.verticalScrollBar().setValue(transcript.verticalScrollBar().maximum())


def chat_generating(program: Program) -> None:
    chat = program.controllers.chat
    chat.new_conversation()
    chat.send("Why is the sky blue?")
    reply = chat.replies.running
    assert reply is not None
    tell_engine(
        program,
        PrefillProgressed(reply.request_id, 900, 1200, 300),
        TokensGenerated(reply.request_id, (1,), "Because air scatters **blue** light more than "),
    )


def chat_reply_failed(program: Program) -> None:
    chat = program.controllers.chat
    reply = chat.replies.running
    assert reply is not None
    usage = Usage(12, 0, 30, 0.4, 0.9)
    tell_engine(program, RequestFinished(reply.request_id, FinishReason.STOP, usage))
    chat.regenerate()
    refused = chat.replies.running
    assert refused is not None
    error = ContextLengthError(
        "The prompt has {num_tokens:,} tokens; the context is planned for "
        "{max_model_len:,}, at least one of them for the reply.",
        num_tokens=9120,
        max_model_len=8192,
    )
    tell_engine(program, RequestFailed(refused.request_id, ErrorInfo.from_exception(error)))


def chat_engine_died(program: Program) -> None:
    chat = program.controllers.chat
    chat.regenerate()
    reply = chat.replies.running
    assert reply is not None
    tell_engine(
        program,
        TokensGenerated(reply.request_id, (1,), "Because air scatters **blue** light more than "),
        WorkerDied(-9),
    )


def _fill_plots(live: LivePanel) -> None:
    """A minute in which a reply was written."""
    now_s = time.monotonic()
    for second in range(60):
        live.history.add_memory(_memory(second), now_s - 60 + second)
    for second in range(20, 55):
        live.history.add_rate(38.4 + second % 3, now_s - 60 + second)
    while live.memory_plot is None:  # imported on a thread of its own
        QApplication.processEvents()
    live.add_memory(_memory(60))
    live.add_rate(38.4)


def _memory(second: int) -> MemorySampled:
    """In the end figures of the widest kind: the legend has room for them."""
    kv = int((39.9 + second) * MIB)
    return MemorySampled(3 * GIB + kv, 2 * GIB, kv, int(92.5 * MIB), 9 * GIB, 16 * GIB)
