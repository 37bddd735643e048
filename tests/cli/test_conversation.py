"""The conversation in the terminal, with an engine that says what it was asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.cli.conversation import Conversation
from app.core.errors import ContextLengthError
from app.core.events import (
    ErrorInfo,
    FinishReason,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    Usage,
)
from app.engine.request import Message
from app.engine.request_handle import RequestHandle

_USAGE = Usage(prompt_tokens=3, cached_tokens=0, completion_tokens=2, ttft_s=0.1, decode_s=0.5)
Talk = Callable[..., list[list[str]]]


class _Engine:
    """Answers `re: ` and the last message, after a thought; refuses what is `too long`."""

    def __init__(self) -> None:
        self.asked: list[list[Message]] = []

    def ask(self, messages: list[Message]) -> RequestHandle:
        self.asked.append(messages)
        handle = RequestHandle("r", lambda _: None)
        text = messages[-1].content
        if text == "too long":
            error = ErrorInfo.from_exception(ContextLengthError("The prompt is too long."))
            handle.put(RequestFailed("r", error))
        else:
            handle.put(TokensGenerated("r", (1,), f"<think>\nhm\n</think>\n\nre: {text}"))
            handle.put(RequestFinished("r", FinishReason.STOP, _USAGE))
        return handle


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Types lines, and gives what the engine was asked each time."""

    def run(*lines: str | type[BaseException], system: str | None = None) -> list[list[str]]:
        typed = iter(lines)

        def read(_prompt: str) -> str:
            line = next(typed, EOFError)
            if isinstance(line, str):
                return line
            raise line

        monkeypatch.setattr("builtins.input", read)
        engine = _Engine()
        Conversation(engine.ask, system).run()
        return [[message.content for message in messages] for messages in engine.asked]

    return run


def test_the_history_goes_along_without_its_thoughts(talk: Talk) -> None:
    assert talk("a", "b", system="S") == [["S", "a"], ["S", "a", "re: a", "b"]]


@pytest.mark.parametrize("word", ["/bye", "/exit", "/quit"])
def test_an_empty_line_does_not_end_it_and_a_word_does(talk: Talk, word: str) -> None:
    assert talk("a", "", word, "b") == [["a"]]


def test_again_asks_the_last_question_anew(talk: Talk) -> None:
    assert talk("/again", "a", "b", "/again") == [
        ["a"],
        ["a", "re: a", "b"],
        ["a", "re: a", "b"],
    ]


def test_clear_and_system_begin_another_one(talk: Talk) -> None:
    assert talk("a", "/clear", "/system Be brief.", "b", "/system", "c") == [
        ["a"],
        ["Be brief.", "b"],
        ["b", "re: b", "c"],
    ]


def test_what_fails_is_told_and_not_kept(talk: Talk, capsys: pytest.CaptureFixture[str]) -> None:
    assert talk("a", "too long", "b")[-1] == ["a", "re: a", "b"]
    assert "deepinfer: The prompt is too long." in capsys.readouterr().err


def test_a_block_is_one_message(talk: Talk) -> None:
    assert talk('"""one', "", "  two", '"""', "three")[0] == ["one\n\n  two"]
    assert talk('"""one line"""') == [["one line"]]


def test_a_path_is_no_command(talk: Talk) -> None:
    assert talk("/usr/bin is a folder") == [["/usr/bin is a folder"]]


def test_the_first_interrupt_drops_the_line_and_the_second_ends(talk: Talk) -> None:
    assert talk(KeyboardInterrupt, "a", KeyboardInterrupt, KeyboardInterrupt, "b") == [["a"]]


def test_help_names_every_command(talk: Talk, capsys: pytest.CaptureFixture[str]) -> None:
    assert talk("/?") == []
    told = capsys.readouterr().err
    assert all(word in told for word in ("/again", "/clear", "/system", "/bye", '"""'))
