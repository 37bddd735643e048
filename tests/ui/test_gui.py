"""The composition root: what is imported when, and that no exception is lost."""

from __future__ import annotations

import faulthandler
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from app.controllers.crash_watch import CrashWatch
from app.core.crash_reports import list_reports, unseen_reports, write_report
from app.core.errors import ResourceError
from app.gui import Program, watch_over
from app.ui.dialogs.crash_report_dialog import CrashReportDialog

HEAVY = "torch cupy transformers"
SLOW = f"{HEAVY} numpy pyqtgraph pygments gguf tokenizers safetensors jinja2"

FIRST_PAINT = """
import sys
from app.gui import Program, create_application
app = create_application()
program = Program(app)
program.window.show()
program.window.grab()
early = [name for name in {slow!r}.split() if name in sys.modules]
assert not early, early
"""

WHOLE_START = """
import sys
from PySide6.QtCore import QTimer
from app import gui
start = gui.Program.start
def start_and_close(program, source):
    start(program, source)
    def close_when_ready():
        if program.window.chat_page.panel.live.memory_plot is None:
            return
        assert "pyqtgraph" in sys.modules
        program.window.close()
    program.timer = QTimer(interval=50)
    program.timer.timeout.connect(close_when_ready)
    program.timer.start()
gui.Program.start = start_and_close
assert gui.main(None) == 0
heavy = [name for name in {heavy!r}.split() if name in sys.modules]
assert not heavy, heavy
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_nothing_slow_is_imported_before_the_first_paint() -> None:
    done = run(FIRST_PAINT.format(slow=SLOW))
    assert done.returncode == 0, done.stderr


def test_window_process_never_imports_torch_cupy_or_transformers() -> None:
    done = run(WHOLE_START.format(heavy=HEAVY))
    assert done.returncode == 0, done.stderr


@pytest.fixture
def hooked(program: Program, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    watch = CrashWatch()
    watch_over(program, watch)
    watch.install()
    watch.start()
    yield program
    watch.close()
    faulthandler.enable()  # as pytest had it


def shown(program: Program) -> list[str]:
    return [banner.text for banner in program.window.banners.banners]


def test_exception_in_a_slot_is_logged_and_shown(
    qtbot: QtBot, hooked: Program, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("in a slot")

    QTimer.singleShot(0, fail)
    qtbot.waitUntil(lambda: bool(shown(hooked)), timeout=20_000)
    assert "Something went wrong" in shown(hooked)[0]
    assert "in a slot" in caplog.text
    (report,) = list_reports()
    text = report.read_text(encoding="utf-8")
    assert "ZeroDivisionError: in a slot" in text
    assert "in fail" in text


def test_what_breaks_again_and_again_is_kept_once(qtbot: QtBot, hooked: Program) -> None:
    def fail() -> None:
        raise ZeroDivisionError("in every paint")

    for _ in range(20):
        QTimer.singleShot(0, fail)
    qtbot.waitUntil(lambda: bool(shown(hooked)), timeout=20_000)
    qtbot.wait(50)
    assert len(list_reports()) == 1


def test_a_report_can_be_read_copied_and_deleted(qtbot: QtBot, hooked: Program) -> None:
    report = write_report("A worker process ended.", "Fatal Python error")
    assert report is not None
    crash = "A part of the program crashed; a report was saved on this computer."
    qtbot.waitUntil(lambda: crash in shown(hooked), timeout=20_000)
    assert unseen_reports() == ()
    (banner,) = hooked.window.banners.banners
    banner.action_button.click()
    dialog = hooked.window.findChild(CrashReportDialog)
    assert dialog is not None
    assert "Fatal Python error" in dialog.text.toPlainText()
    dialog.delete_button.click()
    assert list_reports() == ()


CRASHED_START = """
import os, signal, sys
from PySide6.QtCore import QTimer
from app import gui
gui.Program.start = lambda program, source: os.kill(os.getpid(), signal.SIGSEGV)
gui.main(None)
"""

FAULTY_START = """
import sys
from app import gui
from app.ui.dialogs.crash_report_dialog import CrashReportDialog
def fail(app):
    raise RuntimeError("no window today")
gui.Program = fail
CrashReportDialog.exec = lambda dialog: print(dialog.text.toPlainText())
sys.exit(gui.main(None))
"""

NEXT_START = """
import sys
from PySide6.QtCore import QTimer
from app import gui
def look(program, source):
    QTimer.singleShot(300, lambda: tell(program))
def tell(program):
    print([banner.text for banner in program.window.banners.banners])
    program.window.close()
gui.Program.start = look
sys.exit(gui.main(None))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_native_crash_of_the_window_is_told_by_the_next_start_once() -> None:
    assert run(CRASHED_START).returncode == -signal.SIGSEGV
    assert list_reports() == ()
    told = "DeepInfer crashed; a report of it was saved on this computer."
    assert told in run(NEXT_START).stdout
    (report,) = list_reports()
    text = report.read_text(encoding="utf-8")
    assert "Segmentation fault" in text
    assert "<lambda>" in text
    assert told not in run(NEXT_START).stdout


def test_a_start_that_fails_says_why_and_keeps_it() -> None:
    done = run(FAULTY_START)
    assert done.returncode == 1
    assert "no window today" in done.stderr
    assert "RuntimeError: no window today" in done.stdout
    assert len(list_reports()) == 1


def test_exception_in_a_thread_is_shown_on_the_gui_thread(qtbot: QtBot, hooked: Program) -> None:
    def fail() -> None:
        raise ResourceError("The disk is full.")

    threading.Thread(target=fail).start()
    qtbot.waitUntil(lambda: bool(shown(hooked)), timeout=20_000)
    assert shown(hooked) == ["The disk is full."]
