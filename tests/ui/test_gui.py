"""The composition root: what is imported when, and that no exception is lost."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from app.core.errors import ResourceError
from app.gui import ErrorHook, Program

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


def run_python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_nothing_slow_is_imported_before_the_first_paint() -> None:
    run_python(FIRST_PAINT.format(slow=SLOW))


def test_window_process_never_imports_torch_cupy_or_transformers() -> None:
    run_python(WHOLE_START.format(heavy=HEAVY))


@pytest.fixture
def hooked(program: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    program.hook = ErrorHook(program.window)
    program.hook.install()
    return program


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


def test_exception_in_a_thread_is_shown_on_the_gui_thread(qtbot: QtBot, hooked: Program) -> None:
    def fail() -> None:
        raise ResourceError("The disk is full.")

    threading.Thread(target=fail).start()
    qtbot.waitUntil(lambda: shown(hooked) == ["The disk is full."], timeout=20_000)
