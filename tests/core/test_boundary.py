"""What comes out of a guarded block, what its owner hears, and what the log keeps of it."""

from __future__ import annotations

import json
import logging

import pytest
import tokenizers

from app.core.boundary import Guard
from app.core.cleanup import undone_on_failure
from app.core.errors import UsageError


@pytest.mark.parametrize(
    ("error", "level", "has_trace"),
    [
        (UsageError("No such thing.", detail="why"), logging.INFO, False),
        (ZeroDivisionError("by zero"), logging.ERROR, True),
        (MemoryError(), logging.ERROR, True),
        (StopIteration(), logging.ERROR, True),
    ],
)
def test_whatever_is_raised_is_told_and_logged(
    caplog: pytest.LogCaptureFixture, error: Exception, level: int, has_trace: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[Exception] = []
    with Guard("The work failed", told.append):
        raise error
    assert told == [error]
    (record,) = caplog.records
    assert (record.levelno, record.exc_info is not None) == (level, has_trace)
    assert record.getMessage().startswith("The work failed")


def test_a_panic_in_rust_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    """`tokenizers` panics where a stride is no shorter than what it strides over."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    content = json.loads(tokenizer.to_str())
    cut = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 3}
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps({**content, "truncation": cut}))
    told: list[Exception] = []
    with Guard("The work failed", told.append):
        tokenizer.encode("a a a a")
    (error,) = told
    assert isinstance(error, RuntimeError)
    assert "stride" in str(error)
    (record,) = caplog.records
    assert record.exc_info is not None


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interrupts_and_exits_pass(error: type[BaseException]) -> None:
    told: list[Exception] = []
    with pytest.raises(error), Guard("The work failed", told.append):
        raise error
    assert told == []


def test_nothing_is_told_of_what_goes_well(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Exception] = []
    with Guard("The work failed", told.append):
        pass
    assert (told, caplog.records) == ([], [])


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, SystemExit])
def test_a_beginning_that_fails_is_undone(error: type[BaseException]) -> None:
    undone: list[str] = []
    with pytest.raises(error), undone_on_failure(lambda: undone.append("it")):
        raise error
    assert undone == ["it"]


def test_a_beginning_that_goes_well_stays() -> None:
    undone: list[str] = []

    def begin() -> str:
        with undone_on_failure(lambda: undone.append("it")):
            return "begun"

    assert (begin(), undone) == ("begun", [])
