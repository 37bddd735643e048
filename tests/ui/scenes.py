"""Every page in its states, put through the controllers' own events: for pictures and their tests.

No process is started meanwhile (`quiet_workers`). The scenes follow one another in one window; a
scene leaves what it made behind, and dialogs are closed by whoever took the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from app.controllers.conversion_job import ConversionState
from app.controllers.worker_link import WorkerLink
from app.core.crash_reports import reports_dir
from app.core.download_events import EndpointProbed, TokenTold
from app.core.events import (
    ErrorInfo,
    Event,
    JobFailed,
)
from app.core.library_events import LibraryScanned
from app.core.sentence import Sentence
from app.core.server_events import (
    ServerFailed,
    ServerRequestFinished,
    ServerRequestProgressed,
    ServerRequestStarted,
    ServerRequestState,
    ServerStarted,
    ServerStopped,
)
from app.core.settings import Topic
from app.core.validation_events import (
    CheckFinished,
    CheckProgressed,
    CheckStarted,
    DifferencesFound,
    PromptsRendered,
    ValidationFinished,
    ValidationStarted,
)
from app.gui import Program
from app.ui.dialogs.close_dialog import CloseDialog
from app.ui.dialogs.crash_report_dialog import CrashReportDialog
from app.ui.dialogs.details_dialog import DetailsDialog
from app.ui.dialogs.move_library_dialog import MoveLibraryDialog
from app.ui.dialogs.remote_dialog import RemoteDialog
from app.ui.dialogs.remove_dialog import RemoveDialog
from app.ui.problems import describe
from app.ui.widgets.banner import BannerTone
from tests.ui.chat_scenes import (
    chat_choose_a_model,
    chat_conversation,
    chat_conversation_end,
    chat_engine_died,
    chat_first_run,
    chat_generating,
    chat_load_failed,
    chat_loading,
    chat_model_menu,
    chat_ready,
    chat_reply_failed,
)
from tests.ui.conversion_samples import JOB, OWN, PLAN, PROGRESS, REPORT, W3, W8
from tests.ui.download_samples import ARRIVED, FOUND, LARGE, RESULTS, RUNNING, SMALL
from tests.ui.library_items import CHECKPOINT, FREE_UP, ITEMS, SPACE
from tests.ui.scene_samples import (
    CHAIN,
    CHECKS,
    CRASH_REPORT,
    DIFFERENCES,
    HUB,
    LONG_NAME,
    PLANNED,
    PROMPTS,
    report_of,
)
from tests.ui.window_support import drag_over

Scene = Callable[[Program], None]


@contextmanager
def quiet_workers() -> Iterator[None]:
    """Nothing that is asked for reaches a process; disks have room for everything."""
    with (
        patch.object(WorkerLink, "send", lambda _self, _command: None),
        patch.object(WorkerLink, "end", lambda _self, _timeout_s=0.0: None),
        patch("app.core.room.free_bytes", lambda _folder: 1 << 50),
    ):
        yield


def convert_empty(program: Program) -> None:
    program.window.show_page(program.window.convert_page)


def convert_planned(program: Program) -> None:
    conversion = program.controllers.conversion
    conversion._current = replace(JOB, starts_at_once=False)
    conversion.job_started.emit(conversion._current)
    conversion._set_state(ConversionState.PLANNING)
    conversion.planned.emit(PLAN)
    conversion._set_state(ConversionState.PLANNED)


def convert_running(program: Program) -> None:
    conversion = program.controllers.conversion
    conversion._set_state(ConversionState.CONVERTING)
    conversion.progressed.emit(PROGRESS)


def close_dialog(program: Program) -> None:
    CloseDialog("Qwen3-4B-Q4_K_M.gguf", program.window).open()


def convert_finished(program: Program) -> None:
    conversion = program.controllers.conversion
    conversion.finished.emit(replace(REPORT, evaluations=(OWN, W8, W3)))
    conversion._current = None
    conversion._set_state(ConversionState.IDLE)


def convert_failed(program: Program) -> None:
    conversion = program.controllers.conversion
    conversion.job_started.emit(JOB)
    early = Sentence("{name}: the file became shorter while it was read.", name=JOB.source.name)
    error = ErrorInfo("InvalidSourceError", early, "at byte 12")
    conversion.failed.emit(error)


# --- Validate ----------------------------------------------------------------------------------


def validate_empty(program: Program) -> None:
    program.window.show_page(program.window.validate_page)


def _tell_validation(program: Program, *events: Event) -> None:
    for event in events:
        program.controllers.validation._link.event_received.emit(event)


def validate_running(program: Program) -> None:
    program.controllers.validation.validate("Qwen/Qwen3-4B-GGUF")
    second = PLANNED[1]
    _tell_validation(
        program,
        ValidationStarted("Qwen3-4B", CHAIN, PLANNED),
        CheckFinished(CHECKS[0]),
        DifferencesFound(DIFFERENCES),
        CheckStarted(second.name),
        CheckProgressed(second.name, Sentence("both executors")),
    )


def validate_finished(program: Program) -> None:
    report = report_of()
    _tell_validation(
        program,
        *(CheckFinished(check) for check in report.checks[1:]),
        PromptsRendered(PROMPTS),
        ValidationFinished(report),
    )


def validate_failed(program: Program) -> None:
    program.controllers.validation.validate("bad")
    unknown = Sentence(
        "{text} is neither a file, a folder, a repository nor a name in the library.", text="bad"
    )
    error = ErrorInfo("UsageError", unknown)
    _tell_validation(program, JobFailed(error))


# --- Download ----------------------------------------------------------------------------------


def download_empty(program: Program) -> None:
    program.window.show_page(program.window.download_page)


def download_searching(program: Program) -> None:
    program.controllers.download.hub.submit("qwen3 4b gguf")


def download_results(program: Program) -> None:
    program.controllers.download.hub._link.event_received.emit(RESULTS)


def download_repository(program: Program) -> None:
    program.controllers.download.hub.found.emit(FOUND)


def download_running(program: Program) -> None:
    download = program.controllers.download
    download.enqueue(FOUND, SMALL)
    download._link.event_received.emit(RUNNING)
    download.enqueue(FOUND, LARGE)


def download_hubs(program: Program) -> None:
    page, hub = program.window.download_page, program.controllers.download.hub
    page.hub_button.click()
    hub.token_told.emit(TokenTold(HUB, "keyring"))
    hub.probed.emit(EndpointProbed(HUB, 0.4, 2e6))


def download_failed(program: Program) -> None:
    page, download = program.window.download_page, program.controllers.download
    page.hub_button.click()
    full = Sentence("The disk is full after {done} of {file}", done="3.0 GiB", file=SMALL.main)
    message = Sentence("{problem}; what has arrived is kept.", problem=full)
    download._link.event_received.emit(JobFailed(ErrorInfo("RoomError", message)))
    download.hub.submit("meta-llama/Llama-3.1-8B")
    message = Sentence(
        "{repo_id} is gated: accept its terms at {page}, then give the program (or "
        "HF_TOKEN) a token of that account, made at {token_page}.",
        repo_id="meta-llama/Llama-3.1-8B",
        page=f"{HUB}/meta-llama/Llama-3.1-8B",
        token_page=f"{HUB}/settings/tokens",
    )
    download.hub._link.event_received.emit(JobFailed(ErrorInfo("HubAccessError", message)))


# --- Server ------------------------------------------------------------------------------------


def server_off(program: Program) -> None:
    program.window.show_page(program.window.server_page)


def server_busy(program: Program) -> None:
    link = program.controllers.chat.engine.local
    link.event_received.emit(ServerStarted("http://127.0.0.1:8231/v1", "127.0.0.1", 8231))
    common = ("Qwen3-4B", "/v1/chat/completions")
    state = ServerRequestState
    for event in (
        ServerRequestStarted("1", "openai-python 2.1", *common, state.WAITING),
        ServerRequestProgressed("2", "Continue", *common, state.DECODING, 200, 812, 96, 31.0),
        ServerRequestStarted("3", "curl", *common, state.PREFILL),
        ServerRequestFinished("3", "curl", *common, state.FINISHED, 200, 31, 128, 30.4),
        ServerRequestFinished("4", "127.0.0.1", *common, state.FAILED, 400, error="No messages."),
    ):
        link.event_received.emit(event)
    program.controllers.server.model_changed.emit("Qwen3-4B")
    program.window.server_page._show_requests()


def server_failed(program: Program) -> None:
    link = program.controllers.chat.engine.local
    link.event_received.emit(ServerStopped())
    problem = Sentence("Port {port} is in use.", port=8231)
    message = Sentence("{problem} Port {free} is free.", problem=problem, free=8232)
    link.event_received.emit(ServerFailed(ErrorInfo("PortBusyError", message), 8232))


# --- Library -----------------------------------------------------------------------------------


def _scan(program: Program, scanned: LibraryScanned) -> None:
    program.controllers.disk._link.event_received.emit(scanned)


def library_empty(program: Program) -> None:
    program.window.show_page(program.window.library_page)
    _scan(program, LibraryScanned((), SPACE, True))


def library_items(program: Program) -> None:
    long = replace(CHECKPOINT, name=LONG_NAME, path=Path("/library") / LONG_NAME)
    _scan(program, LibraryScanned((*ITEMS, long), SPACE, True, FREE_UP))
    program.window.library_page.table._select([CHECKPOINT.key])


def library_verifying(program: Program) -> None:
    program.controllers.disk.verify(CHECKPOINT)


def remove_dialog(program: Program) -> None:
    RemoveDialog(ITEMS[:3], parent=program.window).open()


def move_dialog(program: Program) -> None:
    MoveLibraryDialog(Path("/home/张三/models"), program.window).open()


def library_failed(program: Program) -> None:
    template = "{name} holds folders that are not part of a checkpoint; nothing was removed."
    error = ErrorInfo("UsageError", Sentence(template, name=CHECKPOINT.name))
    program.controllers.disk._link.event_received.emit(JobFailed(error))
    # It looks at the disk again then, and this time that ends.
    _scan(program, LibraryScanned(ITEMS, SPACE, True, FREE_UP))


# --- Settings and what stands above every page -------------------------------------------------


def settings_appearance(program: Program) -> None:
    program.window.show_page(program.window.settings_page)


def _show_topic(topic: Topic) -> Scene:
    def show(program: Program) -> None:
        program.window.settings_page.show_topic(topic)

    show.__name__ = f"settings_{topic.name.lower()}"
    return show


def remote_dialog(program: Program) -> None:
    dialog = RemoteDialog(program.controllers.remote, program.window)
    dialog.address.setText("http://192.168.0.7:8000/v1")
    dialog.key.edit.setText("sk-secret")
    dialog.open()


def details_dialog(program: Program) -> None:
    trace = 'Traceback (most recent call last):\n  File "engine.py", line 7\nMemoryError'
    text = Sentence("Something went wrong inside the program; it goes on running.")
    DetailsDialog(describe(ErrorInfo("InternalError", text, trace)), program.window).open()


def crash_report_dialog(program: Program) -> None:
    report = reports_dir() / "crash-20261201-120000-000000.txt"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(CRASH_REPORT, encoding="utf-8")
    CrashReportDialog(report, program.window).open()


def shortcuts_dialog(program: Program) -> None:
    program.window.show_shortcuts()


def banners(program: Program) -> None:
    window = program.window
    damaged = Sentence(
        "{path} was damaged ({reason}); it is kept as {aside}, defaults are used.",
        path="settings.json",
        reason=Sentence("it holds no JSON object"),
        aside="settings.corrupt.json",
    )
    window.show_message("a", damaged, BannerTone.WARNING)
    window.show_error(ErrorInfo.from_exception(RuntimeError("list index out of range")))
    known = Sentence("{name} is in the library already.", name=LONG_NAME)
    window.show_message("c", known, BannerTone.INFO)


def drop_overlay(program: Program) -> None:
    for banner in program.window.banners.banners:
        banner.closed.emit()
    program.window.show_page(program.window.chat_page)
    drag_over(program.window, [ARRIVED])


SCENES: tuple[Scene, ...] = (
    chat_first_run, chat_choose_a_model, chat_model_menu, chat_loading, chat_load_failed,
    chat_ready, chat_conversation, chat_conversation_end, chat_generating, chat_reply_failed,
    chat_engine_died, convert_empty, convert_planned, convert_running, close_dialog,
    convert_finished, convert_failed, validate_empty, validate_running, validate_finished,
    validate_failed, download_empty, download_searching, download_results, download_repository,
    download_running, download_hubs, download_failed, server_off, server_busy, server_failed,
    library_empty, library_items, library_verifying, remove_dialog, move_dialog, library_failed,
    settings_appearance,
    *(_show_topic(topic) for topic in Topic if topic and topic is not Topic.APPEARANCE),
    remote_dialog, details_dialog, crash_report_dialog, shortcuts_dialog, banners, drop_overlay,
)  # fmt: skip


def title(scene: Scene) -> str:
    """What the scene is called below its picture."""
    return scene.__name__.replace("_", " ")
