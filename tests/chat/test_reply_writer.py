"""A reply is on disk while it streams, also when the program is killed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import MagicMock, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat import database, reply_writer
from app.chat.reply_writer import ReplyWriter
from app.chat.store import ChatStore

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60.0
# What a killed program may lose, plus what a loaded machine may add to the commit.
MAX_LOSS_S = 0.25 + 2.0

# Streams numbered words and tells when each was appended (a clock shared by all processes).
STREAMER = """
    import sys, time
    from pathlib import Path
    from app.chat.store import ChatStore

    store = ChatStore.open(Path(sys.argv[1]))
    conversation = store.create_conversation("killed")
    store.append_turn(conversation.conversation_id, "user", "count")
    writer = store.begin_reply(conversation.conversation_id, "SmolLM2")
    number = 0
    while True:
        writer.append(f"{number} ")
        print(number, time.monotonic(), flush=True)
        number += 1
        time.sleep(0.005)
"""


def read_reply(path: Path) -> str:
    with closing(ChatStore.open(path)) as store:
        (row,) = store.list_conversations()
        reply = store.load_conversation(row.conversation_id).turns[-1]
    assert reply.is_interrupted
    return reply.content


def stream_and_kill(path: Path, seconds: float) -> tuple[list[float], float]:
    """When each word was appended, and when the program was killed."""
    command = [sys.executable, "-c", textwrap.dedent(STREAMER), str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        appended = [float(program.stdout.readline().split()[1])]
        while appended[-1] - appended[0] < seconds:
            appended.append(float(program.stdout.readline().split()[1]))
        killed_s = time.monotonic()
        program.kill()
    return appended, killed_s


def test_kill_mid_reply_loses_only_the_last_moment(tmp_path: Path) -> None:
    """A real process; that it is never more than 250 ms is proved below, without a clock."""
    path = tmp_path / "chats.sqlite3"
    appended, killed_s = stream_and_kill(path, MAX_LOSS_S + 0.6)
    words = read_reply(path).split()
    assert words == [str(number) for number in range(len(words))]
    must_be_there = sum(moment < killed_s - MAX_LOSS_S for moment in appended)
    assert len(words) >= must_be_there > 10


class Time:
    """The two events of a writer, whose waiting is all the time that passes. Meanwhile text
    arrives, each piece at its moment."""

    def __init__(self, moments: list[float], num_saved: Callable[[], int]) -> None:
        self._moments, self._num_saved = moments, num_saved
        self._now_s = 0.0
        self._num_arrived = 0
        self.writer: ReplyWriter | None = None
        self.ages_s: list[float] = []  # of each piece, when it was on disk

    def wait(self, timeout_s: float | None = None) -> bool:
        """With a limit for the end of the reply, without one for text."""
        if timeout_s is None:
            self._note_saved()
            if self._num_arrived < len(self._moments):
                self._pass_until(max(self._now_s, self._moments[self._num_arrived]))
        else:
            self._pass_until(self._now_s + timeout_s)
        return self._num_arrived == len(self._moments)

    def set(self) -> None:
        """Waiting looks for itself."""

    clear = set

    def _pass_until(self, moment: float) -> None:
        self._now_s = moment
        while self._num_arrived < len(self._moments) and self._moments[self._num_arrived] <= moment:
            self.writer.append("x")
            self._num_arrived += 1

    def _note_saved(self) -> None:
        """What a kill would leave, as another program reads it."""
        for moment in self._moments[len(self.ages_s) : self._num_saved()]:
            self.ages_s.append(self._now_s - moment)


PAUSES_S = st.one_of(st.just(0.0), st.floats(0, 0.05), st.floats(0, 0.5), st.floats(0, 100))


@settings(max_examples=60, deadline=None)
@given(st.lists(PAUSES_S, min_size=1, max_size=40))
def test_however_text_comes_none_waits_longer_than_promised(pauses_s: list[float]) -> None:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "chats.sqlite3"
        store, reader = (stack.enter_context(closing(ChatStore.open(path))) for _ in range(2))
        conversation_id = store.create_conversation().conversation_id

        def num_saved() -> int:
            return len(reader.load_conversation(conversation_id).turns[-1].content)

        passing = Time(list(accumulate(pauses_s)), num_saved)
        parts = {"Event": lambda: passing, "Lock": threading.Lock, "Thread": MagicMock()}
        with patch.object(reply_writer, "threading", SimpleNamespace(**parts)):
            passing.writer = store.begin_reply(conversation_id, "SmolLM2")
        passing.writer._run()
        passing._note_saved()
        assert len(passing.ages_s) == len(pauses_s)
        assert max(passing.ages_s) < 0.25


def test_text_is_saved_without_further_text(tmp_path: Path) -> None:
    """A model that thinks for a minute after a word must not keep that word in memory."""
    path = tmp_path / "chats.sqlite3"
    with closing(ChatStore.open(path)) as store, closing(ChatStore.open(path)) as reader:
        conversation_id = store.create_conversation().conversation_id
        writer = store.begin_reply(conversation_id, "SmolLM2")
        writer.append("one")
        deadline = time.monotonic() + TIMEOUT_S
        while reader.load_conversation(conversation_id).turns[-1].content != "one":
            assert time.monotonic() < deadline
            time.sleep(0.02)
        store.discard_reply(writer)


def test_text_that_could_not_be_saved_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    with closing(ChatStore.open(path)) as store, closing(ChatStore.open(path)) as other:
        conversation_id = store.create_conversation().conversation_id
        writer = store.begin_reply(conversation_id, "SmolLM2")
        other._connection.execute("BEGIN IMMEDIATE")
        writer.append("first")
        deadline = time.monotonic() + TIMEOUT_S
        while writer._error is None:  # the lock outlasts SQLite's own patience
            assert time.monotonic() < deadline
            time.sleep(0.02)
        other._connection.execute("ROLLBACK")
        writer.append(" second")
        assert store.finish_reply(writer, None).content == "first second"


def test_a_file_that_cannot_be_opened_at_first_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(path: Path) -> sqlite3.Connection:
        if not refused:
            refused.append("once")
            raise sqlite3.OperationalError("unable to open database file")
        return database.connect(path)

    refused: list[str] = []
    monkeypatch.setattr(reply_writer, "connect", connect)
    with closing(ChatStore.open(tmp_path / "chats.sqlite3")) as store:
        writer = store.begin_reply(store.create_conversation().conversation_id, "SmolLM2")
        writer.append("first")
        deadline = time.monotonic() + TIMEOUT_S
        while writer._error is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        writer.append(" second")
        assert store.finish_reply(writer, None).content == "first second"


def test_many_small_pieces_all_arrive_in_order(tmp_path: Path) -> None:
    with closing(ChatStore.open(tmp_path / "chats.sqlite3")) as store:
        writer = store.begin_reply(store.create_conversation().conversation_id, "SmolLM2")
        for number in range(20_000):
            writer.append(f"{number},")
        content = store.finish_reply(writer, None).content
    assert content == "".join(f"{number}," for number in range(20_000))
