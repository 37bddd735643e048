"""A conversation in the terminal: one line after another, and words that begin with a slash."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import suppress

from app.chat.thoughts import split_thoughts
from app.cli.output import print_note
from app.cli.reply import Reply
from app.core.errors import AppError, JobCancelledError
from app.engine.request import Message
from app.engine.request_handle import RequestHandle

_GREETING = "Type a message. Ctrl+C stops a reply; Ctrl+D or /bye ends, /? tells more."
_HELP = """/again          another reply to the last message
/clear          forget what was said
/system TEXT    how the model should behave; without TEXT as it is by itself
/bye            end; so do Ctrl+D, and Ctrl+C twice
\"\"\"             begins and ends a message of several lines"""
_BLOCK = '"""'

Ask = Callable[[list[Message]], RequestHandle]


class Conversation:
    """`ask` submits messages. What fails is told and not kept; the conversation goes on."""

    def __init__(self, ask: Ask, system: str | None) -> None:
        self._ask = ask
        self._system = system
        self._messages: list[Message] = []

    def run(self) -> None:
        """Until the user ends it."""
        with suppress(ImportError):  # not on Windows, whose console edits lines itself
            importlib.import_module("readline")
        print_note(_GREETING)
        while (text := _read_message()) is not None:
            if text.startswith("/") and text.split()[0] in _COMMANDS:
                name, _, rest = text.partition(" ")
                if not _COMMANDS[name](self, rest.strip()):
                    return
            elif text:
                self._answer(self._messages, text)

    def _answer(self, history: list[Message], text: str) -> None:
        before, self._messages = self._messages, [*history, Message("user", text)]
        try:
            self._reply()
        except JobCancelledError:
            raise
        except AppError as error:
            print_note(f"deepinfer: {error.message}")
            self._messages = before

    def _reply(self) -> None:
        system = [Message("system", self._system)] if self._system else []
        completion = Reply(self._ask([*system, *self._messages])).play_until_stopped()
        parts = split_thoughts(completion.text)
        thought = parts.thought or None
        self._messages.append(Message("assistant", parts.answer, reasoning_content=thought))

    def _again(self, _rest: str) -> bool:
        if not self._messages:
            print_note("Nothing was said yet.")
            return True
        *history, question, _ = self._messages
        self._answer(history, question.content)
        return True

    def _clear(self, _rest: str) -> bool:
        self._messages = []
        print_note("What was said is forgotten.")
        return True

    def _set_system(self, rest: str) -> bool:
        self._system = rest or None
        print_note("From the next message on.")
        return True

    def _help(self, _rest: str) -> bool:
        print_note(_HELP)
        return True

    def _end(self, _rest: str) -> bool:
        return False


_COMMANDS: dict[str, Callable[[Conversation, str], bool]] = {
    "/again": Conversation._again,
    "/clear": Conversation._clear,
    "/system": Conversation._set_system,
    **dict.fromkeys(("/?", "/help"), Conversation._help),
    **dict.fromkeys(("/bye", "/exit", "/quit"), Conversation._end),
}


def _read_message() -> str | None:
    """A line, or several between two `\"\"\"`; None at the end."""
    line = _read_line("> ")
    if line is None or not line.startswith(_BLOCK):
        return line
    lines = [line.removeprefix(_BLOCK)]
    while not lines[-1].endswith(_BLOCK) and (line := _read_line("... ")) is not None:
        lines.append(line)
    return "\n".join(lines).removesuffix(_BLOCK).strip()


def _read_line(prompt: str) -> str | None:
    """Ctrl+C drops the line; a second one ends."""
    for _ in range(2):
        try:
            return input(prompt).rstrip()
        except EOFError:
            break
        except KeyboardInterrupt:
            print_note("\nAnother Ctrl+C ends.")
    print()
    return None
