"""Tools for a template without a place for them: told, and calls and results written out."""

from __future__ import annotations

import json

from app.engine.output_parser.deltas import join_deltas
from app.engine.output_parser.hermes import HermesParser
from app.engine.request import Message, ToolCall
from app.engine.tool_prompt import tell_tools

TOOLS = [
    {
        "type": "function",
        "function": {"name": "取温度", "parameters": {"properties": {"city": {"type": "string"}}}},
    }
]


def test_tools_stand_behind_the_system_prompt_or_make_one() -> None:
    user = Message("user", "hi")
    with_prompt = tell_tools([Message("developer", "Be kind."), user], TOOLS)
    without = tell_tools([user], TOOLS)
    assert [turn.role for turn in with_prompt] == ["developer", "user"]
    assert [turn.role for turn in without] == ["system", "user"]
    assert with_prompt[0].content == f"Be kind.\n\n{without[0].content}"
    assert json.dumps(TOOLS[0]["function"], ensure_ascii=False) in without[0].content


def test_calls_of_earlier_turns_are_written_as_the_parser_reads_them() -> None:
    call = ToolCall("id", "取温度", '{"city": "\\"Ulm\\""}')
    _, turn, result = tell_tools(
        [Message("assistant", "Well.", tool_calls=(call,)), Message("tool", "7", name="取温度")],
        TOOLS,
    )
    parser = HermesParser(TOOLS)
    reply = join_deltas([*parser.add(turn.content), *parser.flush()])
    assert reply.content.strip() == "Well."
    assert [(c.name, json.loads(c.arguments)) for c in reply.tool_calls] == [
        ("取温度", {"city": '"Ulm"'})
    ]
    assert (turn.tool_calls, result.role) == ((), "user")
    assert "7" in result.content
