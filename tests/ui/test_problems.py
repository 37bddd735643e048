"""Errors are told alike everywhere, with ways out; too little memory with numbers and buttons."""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

import app
from app.controllers.conversion import ConversionController
from app.core import errors
from app.core.crash_reports import unseen_reports, write_report
from app.core.errors import (
    AppError,
    ContextLengthError,
    InUseError,
    PortBusyError,
    ResourceError,
    RoomError,
)
from app.core.events import (
    EngineState,
    EngineStateChanged,
    ErrorInfo,
    FinishReason,
    PrefillProgressed,
    RequestFailed,
    RequestFinished,
    Usage,
)
from app.core.library_events import ItemKind, ItemPlace, LibraryItem, LibraryScanned, VolumeSpace
from app.core.load_memory import LoadChoice, find_choice
from app.core.system_reason import to_app_error
from app.gui import Program
from app.server.listening_socket import open_listening_socket
from app.ui.dialogs.crash_report_dialog import CrashReportDialog
from app.ui.dialogs.details_dialog import DetailsDialog
from app.ui.problems import Way, describe
from app.ui.widgets.banner import Banner, BannerTone
from app.ui.widgets.problem_banner import ProblemBanner
from app.ui.widgets.reply_card import ReplyCard
from app.ui.widgets.shortage_banner import ShortageBanner
from app.ui.widgets.user_card import UserCard
from app.workers.commands import Command, LoadModel
from tests.ui.chat_scenes import chat_conversation, chat_ready
from tests.ui.scene_samples import SHORT

MODEL = Path("models") / "Qwen3-4B"
_APP = Path(app.__file__).parent
_LACKING = {"cli/library.py", "converter/budget.py", "core/cards.py", "core/device.py"}
_LACKING |= {"engine/host.py", "library/reveal.py"}


@pytest.fixture
def sent(program: Program, monkeypatch: pytest.MonkeyPatch) -> list[Command]:
    """What the engine is asked for; nothing runs."""
    commands: list[Command] = []
    monkeypatch.setattr(program.controllers.chat.engine.local, "send", commands.append)
    program.window.load_model(MODEL)
    commands.clear()
    return commands


def tell(program: Program, error: ErrorInfo) -> None:
    event = EngineStateChanged(EngineState.FAILED, error=error)
    program.controllers.chat.engine.local.event_received.emit(event)


def banner_of(program: Program) -> Banner:
    (banner,) = program.window.chat_page.banners.banners
    return banner


def buttons(widget: QWidget) -> dict[str, QPushButton]:
    found = widget.findChildren(QPushButton)
    return {b.text(): b for b in found if b.text() and b.isVisibleTo(widget)}


def test_too_little_memory_is_told_in_numbers(program: Program, sent: list[Command]) -> None:
    tell(program, SHORT)
    banner = banner_of(program)
    assert isinstance(banner, ShortageBanner)
    assert banner.body.title.text() == "Not enough memory"
    assert banner.text == (
        "5.2 GiB are needed: 2.3 GiB for weights, 2.7 GiB for a context of 32,768 tokens, "
        "205 MiB to work in. 3.0 GiB of 4.0 GiB are free on the NVIDIA GeForce RTX 3050 Laptop GPU."
    )
    assert banner.body.advice.text() == "Held by chrome 1.0 GiB, DeepInfer 256 MiB"
    labels = {"Context of 5,888 tokens", "8-bit KV cache: 11,264 tokens", "Choose another model"}
    assert set(buttons(banner)) == {*labels, "Details"}


@pytest.mark.parametrize(
    ("label", "length", "kv_dtype"),
    [("Context of 5,888 tokens", 5888, "fp16"), ("8-bit KV cache: 11,264 tokens", 11264, "int8")],
)
def test_a_click_loads_with_less_and_so_does_the_next_start(
    program: Program, sent: list[Command], label: str, length: int, kv_dtype: str
) -> None:
    tell(program, SHORT)
    buttons(banner_of(program))[label].click()
    (command,) = [one for one in sent if isinstance(one, LoadModel)]
    assert command == LoadModel(MODEL, "auto", length, "int8", kv_dtype)
    assert program.window.chat_page.banners.banners == ()
    asked = LoadChoice(0, "fp16")
    assert find_choice(MODEL, asked) == LoadChoice(length, kv_dtype)
    assert find_choice(MODEL, replace(asked, kv_dtype="fp32")).kv_dtype == "fp32", "set since"
    sent.clear()
    program.window.load_model(MODEL)
    assert command in sent


def test_three_bits_are_offered_where_the_source_is_known(
    program: Program, sent: list[Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        ConversionController, "enqueue", lambda _self, *args, **kwargs: asked.append((args, kwargs))
    )
    tell(program, SHORT)
    source = Path("downloads") / "Qwen3-4B.Q4_K_M.gguf"
    item = LibraryItem(ItemKind.SOURCE, "Qwen3", source, ItemPlace.FOLDER, 1, checkpoint=MODEL)
    program.controllers.disk.scanned.emit(
        LibraryScanned((item,), VolumeSpace(Path(), 1, 2), is_complete=True)
    )
    buttons(banner_of(program))["Convert to 3 bits (1.8 GiB): 11,008 tokens"].click()
    ((positional, named),) = asked
    sources, options = positional
    assert sources == [source]
    assert options.grid == "w3"
    assert named == {"start": False, "output": MODEL.with_name("Qwen3-4B-w3")}
    assert program.window.desk.current_page is program.window.convert_page


def test_a_reply_that_is_too_long_leads_on(program: Program, sent: list[Command]) -> None:
    chat = program.controllers.chat
    error = ErrorInfo.from_exception(ContextLengthError("9000 tokens do not fit into 4096."))
    chat.reply_failed.emit(chat.conversation.conversation_id, error)
    offered = buttons(banner_of(program))
    assert list(offered) == ["Try again", "New chat", "Model settings"]
    offered["Model settings"].click()
    assert program.window.desk.current_page is program.window.settings_page


@pytest.mark.parametrize("is_regenerated", [False, True])
def test_why_a_reply_was_refused_is_seen(
    program: Program, sent: list[Command], is_regenerated: bool
) -> None:
    """Beside what the conversation was before: the message, and the reply that stays."""
    chat = program.controllers.chat
    chat_ready(program)
    assert chat.send("Why?")
    if is_regenerated:
        usage = Usage(12, 0, 30, 0.4, 0.9)
        finished = RequestFinished(chat.replies.running.request_id, FinishReason.STOP, usage)
        chat.engine.event_received.emit(finished)
        chat.regenerate()
    error = ErrorInfo.from_exception(ContextLengthError("9000 tokens do not fit into 4096."))
    request_id = chat.replies.running.request_id
    chat.engine.event_received.emit(PrefillProgressed(request_id, 900, 1200, 0))
    chat.engine.event_received.emit(RequestFailed(request_id, error))
    live = program.window.chat_page.panel.live
    assert not any("900 of" in label.text() for label in live.findChildren(QLabel))
    assert banner_of(program).text == "9000 tokens do not fit into 4096."
    cards = [type(card) for card in program.window.chat_page.transcript.cards]
    assert cards == [UserCard, ReplyCard][: 1 + is_regenerated]


def test_an_error_without_a_page_of_its_own_is_told_alike(qtbot: QtBot, program: Program) -> None:
    program.window.show_error(
        ErrorInfo("CheckpointError", "model.safetensors ends early.", "offset 12")
    )
    (banner,) = program.window.banners.banners
    assert isinstance(banner, ProblemBanner)
    texts = (banner.body.title.text(), banner.text, banner.body.advice.text())
    assert texts[:2] == ("The converted model is damaged", "model.safetensors ends early.")
    assert "Convert it again" in texts[2]
    found = buttons(banner)
    found["Details"].click()
    dialog = banner.findChild(DetailsDialog)
    assert dialog is not None
    assert dialog.body.title.text() == "The converted model is damaged"
    dialog.accept()
    found["Open the library"].click()
    assert program.window.desk.current_page is program.window.library_page
    assert Way.LIBRARY in banner.problem.ways


def error_classes(base: type[AppError] = AppError) -> Iterator[type[AppError]]:
    for kind in base.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
            yield from error_classes(kind)


def test_every_error_has_a_title(qapp: QApplication) -> None:
    """But for those whose sentence says it all: what was asked for cannot be meant."""
    names = {kind.__name__ for kind in error_classes()}
    untitled = {name for name in names if not describe(ErrorInfo(name, "x")).title}
    assert untitled == {"UsageError", "OutputExistsError", "JobCancelledError"}


def test_an_error_is_titled_by_its_cause(qapp: QApplication, tmp_path: Path) -> None:
    """Only what this computer lacks is told as a lack of it."""
    full = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "a"))
    denied = OSError(errno.EACCES, "Permission denied", str(tmp_path / "a"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(PortBusyError) as busy:
            open_listening_socket("127.0.0.1", taken.getsockname()[1])
    found = {to_app_error(full): "Not enough disk space", busy.value: "The port cannot be used"}
    found[to_app_error(denied)] = "A file cannot be read or written"
    found[InUseError("Tiny is loaded right now.")] = "It is in use right now"
    found[ResourceError("No driver.")] = "This computer does not meet the requirements"
    told = {error: describe(ErrorInfo.from_exception(error)) for error in found}
    assert {error: problem.title for error, problem in told.items()} == found
    assert [told[error].ways for error in list(found)[:2]] == [(Way.LIBRARY,), ()]


def test_nothing_that_is_refused_or_in_use_is_told_as_a_lack() -> None:
    """A plain ResourceError is for what this computer has not got: a card, a driver, room in a
    budget."""
    made = re.compile(r"(raise|=|return) ResourceError\(")
    files = (path for path in _APP.rglob("*.py") if made.search(path.read_text(encoding="utf-8")))
    plain = {path.relative_to(_APP).as_posix() for path in files}
    assert plain <= _LACKING


def test_a_full_disk_leads_to_the_library(program: Program) -> None:
    error = ErrorInfo.from_exception(RoomError("The disk is full."))
    page = program.window.convert_page
    page.error.show_error("model.gguf", error)
    offered = buttons(page.error)
    assert set(offered) == {"Try again", "Open the library"}
    offered["Open the library"].click()
    assert program.window.desk.current_page is program.window.library_page


def test_a_dead_engine_shows_what_was_kept_of_it(program: Program) -> None:
    report = write_report("The engine process ended by itself.", "Fatal Python error")
    assert report is not None
    program.controllers.chat.worker_died.emit("The engine stopped unexpectedly.", report)
    assert unseen_reports() == (), "the banner tells of it"
    buttons(banner_of(program))["Show report"].click()
    dialog = program.window.findChild(CrashReportDialog)
    assert dialog is not None
    assert "Fatal Python error" in dialog.text.toPlainText()
    dialog.close_button.click()
    assert report.is_file()


def test_banners_that_come_one_after_the_other_have_room(qtbot: QtBot, program: Program) -> None:
    page = program.window.chat_page
    stack = page.banners
    stack.show_error(ErrorInfo("EngineError", "The engine failed."))
    qtbot.wait(50)
    stack.show_worker_died("The engine stopped unexpectedly.", Path("crash.txt"))
    qtbot.waitUntil(lambda: page._stack.y() >= stack.y() + stack.height(), timeout=5000)
    assert len(stack.banners) == 2
    for banner in stack.banners:
        assert banner.height() >= banner.heightForWidth(banner.width())


def test_a_banner_with_room_has_no_scroll_bar_at_any_width(program: Program) -> None:
    """A bar narrows the texts, so that they need the bar: it must not be there to begin with."""
    stack = program.window.chat_page.banners
    for width in range(800, 1000, 7):
        program.window.resize(width, 800)
        stack.show_error(SHORT)
        for _ in range(6):
            QApplication.processEvents()
        banner = stack.banners[-1]
        assert stack.verticalScrollBar().maximum() == 0, width
        assert banner.mapTo(stack, banner.rect().bottomLeft()).y() < stack.height(), width
        stack.clear_errors()


def test_the_newest_of_many_banners_is_in_view(program: Program) -> None:
    window = program.window
    window.resize(683, 384)
    for num_words in range(3, 30, 5):
        window.show_message("a", "A warning.", BannerTone.WARNING)
        window.show_error(ErrorInfo.from_exception(RuntimeError("list index out of range")))
        window.show_message("c", "other " * num_words, BannerTone.INFO)
        for _ in range(10):
            QApplication.processEvents()
        stack = window.banners
        newest = stack.banners[-1]
        assert stack.verticalScrollBar().maximum() > 0
        assert newest.mapTo(stack, newest.rect().bottomLeft()).y() < stack.height(), num_words
        for banner in stack.banners:
            banner.closed.emit()


def test_banners_leave_lines_of_the_conversation_in_a_low_window(program: Program) -> None:
    """All of a screen of 1366 x 768 at 200 %, with a banner above the page and one on it."""
    window, page = program.window, program.window.chat_page
    window.resize(683, 384)
    chat_conversation(program)
    window.show_error(ErrorInfo("CheckpointError", "model.safetensors ends early.", "offset 12"))
    page.banners.show_error(SHORT)
    settle(3 * page.transcript.fontMetrics().lineSpacing(), page.transcript.viewport())
    (shown,) = window.banners.banners
    shown.closed.emit()
    settle(4 * page.transcript.fontMetrics().lineSpacing(), page.transcript.viewport())
    assert page.banners.height() > 100, "has the room that the other one gave back"


def settle(least: int, viewport: QWidget) -> None:
    for _ in range(12):
        QApplication.processEvents()
    assert viewport.height() >= least
