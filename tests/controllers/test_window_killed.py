"""The window is killed mid-reply: what was shown is saved, and the engine does not stay behind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import psutil

from app.chat.store import ChatStore
from app.core.paths import chats_path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TIMEOUT_S = 120.0
# 250 ms may be lost; a loaded machine may take some time over the commit.
MAX_LOSS_S = 0.25 + 2.0

# Prints the engine's process id, then each piece of text with the time at which it was shown.
WINDOW = """
    import sys, time
    sys.path.insert(0, {here!r})
    from pathlib import Path
    from PySide6.QtCore import QCoreApplication
    from app.chat.store import ChatStore
    from app.controllers.chat import ChatController
    from app.core.paths import chats_path
    from app.workers.commands import LoadModel

    def show(_, text):
        print(time.monotonic(), len(text), flush=True)

    app = QCoreApplication([])
    chat = ChatController(ChatStore.open(chats_path()), service="fake_engine:create_service")
    chat.model_loaded.connect(lambda model: chat.send("forever"))
    chat.reply_started.connect(lambda _: print(chat.worker_pid, flush=True))
    chat.text_appended.connect(show)
    chat.load(LoadModel(Path("Fake-1B")))
    app.exec()
"""


def test_kill_9_of_the_window_mid_reply() -> None:
    program = textwrap.dedent(WINDOW.format(here=str(HERE)))
    command = [sys.executable, "-c", program]
    shown: list[tuple[float, int]] = []
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as window:
        assert window.stdout
        engine_pid = int(window.stdout.readline())
        while not shown or shown[-1][0] - shown[0][0] < MAX_LOSS_S + 0.5:
            moment, num_chars = window.stdout.readline().split()
            shown.append((float(moment), int(num_chars)))
        killed_s = time.monotonic()
        window.kill()
    wait_until_gone(engine_pid)
    must_be_there = sum(chars for moment, chars in shown if moment < killed_s - MAX_LOSS_S)
    with closing(ChatStore.open(chats_path())) as store:
        (row,) = store.list_conversations()
        question, reply = store.load_conversation(row.conversation_id).turns
    assert question.content == "forever"
    assert reply.is_interrupted
    assert len(reply.content) >= must_be_there > 20
    words = reply.content.split(" ")[:-1]
    assert words == [str(number) for number in range(len(words))]


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while is_alive(pid):
        assert time.monotonic() < deadline, "the engine outlived the window"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
