"""Replies taken apart: each format's calls, thoughts and content, however the text is cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.output_parser.deltas import (
    Delta,
    ParsedReply,
    ToolCallArguments,
    ToolCallEnded,
    ToolCallStarted,
    join_deltas,
)
from app.engine.output_parser.format_parser import FormatParser
from app.engine.output_parser.harmony import HarmonyParser
from app.engine.output_parser.hermes import HermesParser
from app.engine.output_parser.listed_calls import ListedCallsParser
from app.engine.output_parser.llama3 import Llama3Parser
from app.engine.output_parser.mistral import MistralParser
from app.engine.output_parser.reasoning import PlainParser, ThinkMarkers, ThinkParser

TOOLS: Sequence[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    },
    {"type": "function", "function": {"name": "now"}},
]
PARSERS: dict[str, Callable[[], FormatParser]] = {
    "plain": PlainParser,
    "think": lambda: ThinkParser(ThinkMarkers(), PlainParser()),
    "open think": lambda: ThinkParser(ThinkMarkers(is_open=True), HermesParser(TOOLS)),
    "hermes": lambda: ThinkParser(ThinkMarkers(), HermesParser(TOOLS)),
    "llama3": lambda: ThinkParser(ThinkMarkers(), Llama3Parser({"weather", "now"})),
    "mistral": lambda: ThinkParser(ThinkMarkers("[THINK]", "[/THINK]"), MistralParser()),
    "listed": lambda: ThinkParser(ThinkMarkers(), ListedCallsParser()),
    "harmony": HarmonyParser,
}
WEATHER = ("weather", '{"city": "Köln"}')
NOW = ("now", "{}")


@dataclass(frozen=True)
class Case:
    """A reply, and what it says; `calls` are names and arguments."""

    parser: str
    text: str
    content: str = ""
    reasoning: str = ""
    calls: Sequence[tuple[str, str]] = field(default=())


CASES = [
    Case("plain", "a <think>b</think> <tool_call>", "a <think>b</think> <tool_call>"),
    Case("think", "just text\n", "just text\n"),
    Case("think", "<think>\nwell, 1 < 2\n</think>\n\nyes", "yes", "well, 1 < 2"),
    Case("think", "\n<think>cut o", "", "cut o"),
    Case("think", "<think>\n\n</think>\n\nyes", "yes", ""),
    Case("think", "a <think> later is text", "a <think> later is text"),
    Case("think", "<thi", "<thi"),
    Case("open think", "hm</think>yes", "yes", "hm"),
    Case("open think", "never closed </thin", "", "never closed </thin"),
    Case(
        "open think",
        'hm\n</think>\n<tool_call>{"name": "now", "arguments": {}}</tool_call>',
        "",
        "hm",
        [NOW],
    ),
    Case(
        "hermes",
        'Sure.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Köln"}}\n</tool_call>',
        "Sure.",
        calls=[WEATHER],
    ),
    Case(
        "hermes",
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Köln"}}\n</tool_call>\n'
        '<tool_call>\n{"arguments": {"n": [1, {"a": "}"}]}, "name": "now"}\n</tool_call>\ndone',
        "done",
        calls=[WEATHER, ("now", '{"n": [1, {"a": "}"}]}')],
    ),
    Case(
        "hermes",
        '<think>I call\n</think>\n\n<tool_call>{"name": "now"}</tool_call>',
        "",
        "I call",
        [NOW],
    ),
    Case(
        "hermes",
        '<tool_call>{"name": "now", "arguments": "{\\"a\\": 1}"}',
        calls=[("now", '{"a": 1}')],
    ),
    Case("hermes", '<tool_call>{"name": "now", "arguments": null}', calls=[NOW]),
    Case("hermes", "<tool_call>weather(Köln)</tool_call>", "<tool_call>weather(Köln)</tool_call>"),
    Case("hermes", '<tool_call>{"name": 7, "a": {}}', '<tool_call>{"name": 7, "a": {}}'),
    Case("hermes", '<tool_call>{"name" "now"}', '<tool_call>{"name" "now"}'),
    Case("hermes", '<tool_call>{"name": "now", "argum', '<tool_call>{"name": "now", "argum'),
    Case("hermes", "<tool_call>\n", "<tool_call>\n"),
    Case("hermes", "a <tool_cal b\n", "a <tool_cal b\n"),
    Case(
        "hermes",
        '<tool_call>{"name": "weather", "arguments": {"city": "Kö',
        calls=[("weather", '{"city": "Kö')],
    ),
    Case(
        "hermes",
        '<tool_call>{"name": "weather", "arguments": {"city": "K"]} then',
        "} then",
        calls=[("weather", '{"city": "K"')],
    ),
    Case(
        "hermes",
        '<tool_call>{"name": "now", "arguments": {"a": "two\nlines \\d \\" \\u00e9"}}</tool_call>',
        calls=[("now", '{"a": "two\\nlines \\\\d \\" \\u00e9"}')],
    ),
    Case(
        "hermes",
        "<tool_call>\n<function=weather>\n<parameter=city>\n12\n</parameter>\n"
        "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
        calls=[("weather", '{"city": "12", "days": 3}')],
    ),
    Case("hermes", "<tool_call><function=</tool_call>", "<tool_call><function=</tool_call>"),
    Case("hermes", "<tool_call><function=now>", "<tool_call><function=now>"),
    Case(
        "llama3",
        '{"name": "weather", "parameters": {"city": "Köln"}}',
        calls=[WEATHER],
    ),
    Case(
        "llama3",
        '<|python_tag|>{"type": "function", "name": "weather", "parameters": {"city": "Köln"}}; '
        '{"name": "now", "parameters": {}}',
        calls=[WEATHER, NOW],
    ),
    Case(
        "llama3",
        '{"type": "function", "function": {"name": "weather", "parameters": {"city": "Köln"}}}',
        calls=[WEATHER],
    ),
    Case("llama3", '{"type": "function", "function": "now", "parameters": {}}', calls=[NOW]),
    Case("llama3", '{"function": {"name": "Bob"}}', '{"function": {"name": "Bob"}}'),
    Case("llama3", '{"function": "Bob", "a": 1}', '{"function": "Bob", "a": 1}'),
    Case("llama3", '{"name": "Bob", "parameters": {}}', '{"name": "Bob", "parameters": {}}'),
    Case("llama3", '{"name": "now"}', '{"name": "now"}'),
    Case("llama3", '{"answer": 42}\n', '{"answer": 42}\n'),
    Case("llama3", "<|python_tag|>print(1)", "print(1)"),
    Case("llama3", "It is {fine}", "It is {fine}"),
    Case("llama3", '  {"name": "now", "par', '{"name": "now", "par'),
    Case("llama3", 'I do <|python_tag|>{"name": "now", "parameters": {}}', "I do ", calls=[NOW]),
    Case(
        "llama3", '{"name": "now", "parameters": {}} and more', " and more", calls=[NOW]
    ),
    Case(
        "mistral",
        '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Köln"}}, '
        '{"name": "now", "arguments": {}, "id": "123456789"}]',
        calls=[WEATHER, NOW],
    ),
    Case(
        "mistral",
        'ok[TOOL_CALLS]weather[ARGS]{"city": "Köln"}[TOOL_CALLS]now[CALL_ID]abc123def[ARGS]{}',
        "ok",
        calls=[WEATHER, NOW],
    ),
    Case("mistral", '[THINK]so[/THINK][TOOL_CALLS]now{}', "", "so", [NOW]),
    Case("mistral", "[TOOL_CALLS] nothing to call", "[TOOL_CALLS] nothing to call"),
    Case("mistral", "[TOOL_CALLS] a b {}", "[TOOL_CALLS] a b {}"),
    Case("mistral", "[TOOL_CALLS]", "[TOOL_CALLS]"),
    Case("mistral", '[TOOL_CALLS]now[ARGS]{"a": 1', calls=[("now", '{"a": 1')]),
    Case("mistral", '[TOOL_CALLS][{"name": "now", "arg', '[{"name": "now", "arg'),
    Case("mistral", '[TOOL_CALLS][{"name": 5}]', '[{"name": 5}]'),
    Case("mistral", '[TOOL_CALLS]{"name": "now", "arguments": {}} so', "so", calls=[NOW]),
    Case(
        "listed",
        '<|tool_call|>[{"name": "weather", "arguments": {"city": "Köln"}}]<|/tool_call|>ok',
        "ok",
        calls=[WEATHER],
    ),
    Case("listed", '<|tool_call|>[{"name": "now", "arguments": {}}]', calls=[NOW]),
    Case("listed", "<|tool_call|>no", "no"),
    Case(
        "harmony",
        "<|channel|>analysis<|message|>Hm, 2.<|end|><|start|>assistant<|channel|>final"
        "<|message|>It is 2.<|return|>",
        "It is 2.",
        "Hm, 2.",
    ),
    Case(
        "harmony",
        "<|channel|>analysis<|message|>Ask.<|end|><|start|>assistant<|channel|>commentary "
        'to=functions.weather <|constrain|>json<|message|>{"city": "Köln"}<|call|>',
        "",
        "Ask.",
        [WEATHER],
    ),
    Case(
        "harmony",
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant to=functions.now"
        "<|channel|>commentary json<|message|>{}",
        "I look.",
        calls=[NOW],
    ),
    Case("harmony", "bare text", "bare text"),
    Case("harmony", "<|channel|>final<|mess", ""),
    Case("harmony", "<|channel|>final<|message|>a<|start|>assistant<|channel|>final<|message|>b",
         "a\n\nb"),
    Case("harmony", "<|channel|>final " + "x" * 400, "final " + "x" * 400),
]  # fmt: skip


def parse(parser: FormatParser, pieces: Sequence[str]) -> list[Delta]:
    deltas = [delta for piece in pieces for delta in parser.add(piece)]
    return deltas + parser.flush()


def without_ids(reply: ParsedReply) -> tuple[str, str, list[tuple[str, str]]]:
    calls = [(call.name, call.arguments) for call in reply.tool_calls]
    return reply.content, reply.reasoning, calls


def cut(text: str, places: Sequence[int]) -> list[str]:
    edges = [0, *sorted(places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parser}: {case.text[:40]!r}")
def test_a_reply_says_what_it_says_however_it_is_cut(case: Case) -> None:
    expected = (case.content, case.reasoning, list(case.calls))
    for pieces in ([case.text], list(case.text), cut(case.text, range(0, len(case.text), 3))):
        assert without_ids(join_deltas(parse(PARSERS[case.parser](), pieces))) == expected


@settings(max_examples=200, deadline=None)
@given(case=st.sampled_from(CASES), data=st.data())
def test_any_cut_gives_the_same(case: Case, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(case.text)), max_size=12))
    parser = PARSERS[case.parser]
    whole = join_deltas(parse(parser(), [case.text]))
    assert without_ids(join_deltas(parse(parser(), cut(case.text, places)))) == without_ids(whole)


FRAGMENTS = (
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<|python_tag|>", "[TOOL_CALLS]",
    "[ARGS]", "[CALL_ID]", "<|tool_call|>", "<|channel|>", "<|message|>", "<|end|>", "<|start|>",
    "<|call|>", "analysis", "final", "commentary to=functions.now", '{"name": "now"',
    '"arguments": {', '"name"', ": ", ", ", "{", "}", "[", "]", '"', "\\", "\n", " ", "a", "7",
    "null", '"function": ', "<function=now>", "<parameter=a>", "</parameter>", "weather", ";",
    "<", "é",
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(name=st.sampled_from(sorted(PARSERS)), data=st.data())
def test_whatever_a_model_writes_is_taken_apart_alike_for_any_cut(
    name: str, data: st.DataObject
) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(FRAGMENTS), max_size=14)))
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    whole = parse(PARSERS[name](), [text])
    assert without_ids(join_deltas(parse(PARSERS[name](), cut(text, places)))) == without_ids(
        join_deltas(whole)
    )
    check_order(whole)


def check_order(deltas: Sequence[Delta]) -> None:
    """Calls are numbered from 0, and each is begun, written and ended in this order."""
    events: list[tuple[int, str]] = []
    for delta in deltas:
        match delta:
            case ToolCallStarted(index, call_id, name):
                assert call_id
                assert name
                events.append((index, "started"))
            case ToolCallEnded(index):
                events.append((index, "ended"))
            case ToolCallArguments(index):
                assert events[-1] == (index, "started")
            case _:
                assert delta.text
    assert events == [(i // 2, ("started", "ended")[i % 2]) for i in range(len(events))]


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(
    arguments=st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=4),
    indent=st.sampled_from([None, 1]),
    name=st.sampled_from(["hermes", "llama3", "mistral", "listed"]),
)  # fmt: skip
def test_arguments_come_as_they_are(
    arguments: dict[str, Any], indent: int | None, name: str
) -> None:
    written = json.dumps(arguments, indent=indent, ensure_ascii=False)
    call = f'{{"name": "weather", "arguments": {written}}}'
    text = {
        "hermes": f"<tool_call>\n{call}\n</tool_call>",
        "llama3": call,
        "mistral": f"[TOOL_CALLS][{call}]",
        "listed": f"<|tool_call|>[{call}]",
    }[name]
    reply = join_deltas(parse(PARSERS[name](), list(text)))
    (found,) = reply.tool_calls
    assert (found.name, found.arguments, reply.content) == ("weather", written, "")


def test_arguments_are_passed_on_while_they_are_written() -> None:
    parser = HermesParser(TOOLS)
    started, arguments = parser.add('<tool_call>{"name": "weather", "arguments": {"city": "Kö')
    assert isinstance(started, ToolCallStarted)
    assert arguments == ToolCallArguments(0, '{"city": "Kö')
    assert parser.add("ln") == [ToolCallArguments(0, "ln")]


def test_long_arguments_take_time_in_proportion() -> None:
    parser = HermesParser(TOOLS)
    parser.add('<tool_call>{"name": "weather", "arguments": {"city": "')
    pieces = [piece for _ in range(20_000) for piece in parser.add("x" * 10)]
    assert all(isinstance(piece, ToolCallArguments) and piece.text == "x" * 10 for piece in pieces)


def test_ids_differ_and_suit_the_template() -> None:
    text = "[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]now[CALL_ID]abc123def[ARGS]{}"
    first, second, third = join_deltas(parse(MistralParser(), [text])).tool_calls
    assert len({first.id, second.id}) == 2
    assert all(len(call.id) == 9 and call.id.isalnum() for call in (first, second))
    assert third.id == "abc123def"
    (call,) = join_deltas(parse(HermesParser(TOOLS), ['<tool_call>{"name": "now"}'])).tool_calls
    assert call.id.startswith("call_")
