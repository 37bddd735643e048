"""Tools, calls, results, thoughts and documents in templates: rendered as by transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from app.core.errors import UnsupportedError
from app.engine.chat_template import ChatTemplate
from app.engine.request import Message, ToolCall
from tests.chat_templates import CHATML, TEMPLATES

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The <weather> of a 'city', \"now\"",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Größe & Ort"},
                    "days": {"type": "array", "items": {"type": "integer"}},
                    "unit": {"enum": ["C", "F"]},
                },
                "required": ["city"],
            },
        },
    },
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
)
CALL = ToolCall("abcdefgh1", "weather", '{"city": "Köln", "days": [1, 2]}')
CALL_TURN = {
    "id": "abcdefgh1",
    "type": "function",
    "function": {"name": "weather", "arguments": {"city": "Köln", "days": [1, 2]}},
}
# Our messages, and the dictionaries that transformers takes for the same conversation.
CONVERSATIONS: dict[str, list[tuple[Message, dict[str, Any]]]] = {
    "question": [
        (Message("system", "Be brief."), {"role": "system", "content": "Be brief."}),
        (Message("user", " Weather? "), {"role": "user", "content": " Weather? "}),
    ],
    "call": [
        (Message("user", "Weather?"), {"role": "user", "content": "Weather?"}),
        (
            Message("assistant", "", tool_calls=(CALL,)),
            {"role": "assistant", "content": "", "tool_calls": [CALL_TURN]},
        ),
        (
            Message("tool", '{"degrees": 3}', tool_call_id="abcdefgh1", name="weather"),
            {
                "role": "tool",
                "content": '{"degrees": 3}',
                "tool_call_id": "abcdefgh1",
                "name": "weather",
            },
        ),
    ],
    "calls": [
        (Message("user", "Weather?"), {"role": "user", "content": "Weather?"}),
        (
            Message("assistant", "I look.", tool_calls=(CALL, CALL)),
            {"role": "assistant", "content": "I look.", "tool_calls": [CALL_TURN, CALL_TURN]},
        ),
        (
            Message("tool", "3", tool_call_id="abcdefgh1"),
            {"role": "tool", "content": "3", "tool_call_id": "abcdefgh1"},
        ),
        (
            Message("tool", "4", tool_call_id="abcdefgh1"),
            {"role": "tool", "content": "4", "tool_call_id": "abcdefgh1"},
        ),
        (Message("user", "So?"), {"role": "user", "content": "So?"}),
    ],
    "thoughts": [
        (Message("user", "Hi"), {"role": "user", "content": "Hi"}),
        (
            Message("assistant", "Hello", reasoning_content="A greeting."),
            {"role": "assistant", "content": "Hello", "reasoning_content": "A greeting."},
        ),
    ],
}


def render_by_transformers(template: str, turns: list[dict[str, Any]], **options: Any) -> str:
    from transformers.utils.chat_template_utils import render_jinja_template

    try:
        rendered, _ = render_jinja_template([turns], chat_template=template, **TOKENS, **options)
    except Exception as error:  # noqa: BLE001 - whatever a template raises is what we compare
        return f"refused: {error}"
    text: str = rendered[0]
    return text


def render(template: str, messages: Sequence[Message | Mapping[str, Any]], **options: Any) -> str:
    try:
        return ChatTemplate.from_config(template, TOKENS).render(messages, **options)
    except UnsupportedError as error:
        return f"refused: {error.message.partition(': ')[2]}"


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("tools", [(), TOOLS], ids=["no_tools", "tools"])
def test_conversations_with_tools_render_as_in_transformers(
    name: str, conversation: str, tools: tuple[dict[str, Any], ...]
) -> None:
    messages = [message for message, _ in CONVERSATIONS[conversation]]
    turns = [turn for _, turn in CONVERSATIONS[conversation]]
    for options in (
        {"add_generation_prompt": True},
        {"add_generation_prompt": False, "enable_thinking": False, "reasoning_effort": "low"},
    ):
        expected = render_by_transformers(
            TEMPLATES[name], turns, tools=list(tools) or None, **options
        )
        assert render(TEMPLATES[name], messages, tools=tools, **options) == expected


def test_the_comparison_covers_calls_results_and_refusals() -> None:
    def rendered(name: str, conversation: str) -> str:
        messages = [message for message, _ in CONVERSATIONS[conversation]]
        return render(TEMPLATES[name], messages, tools=TOOLS)

    assert '{"name": "weather", "arguments": {"city": "Köln"' in rendered("hermes", "call")
    assert rendered("llama3", "calls") == "refused: Only one call at once"
    assert '"id": "abcdefgh1"}]</s>[TOOL_RESULTS]' in rendered("mistral", "call")
    assert "type weather = (_: {city: string,days?: number[],unit?: " in rendered("harmony", "call")
    assert "<think>\nA greeting.\n</think>" in rendered("qwen3", "thoughts")


def test_documents_reach_the_template_as_in_transformers() -> None:
    template = (
        "{% for document in documents %}{{ document.title }}: {{ document.text }};{% endfor %}"
    )
    documents = [{"title": "a", "text": "b"}, {"title": "ä", "text": "<c>"}]
    turns = [{"role": "user", "content": "x"}]
    expected = render_by_transformers(template, turns, documents=documents)
    assert render(template, turns, documents=documents) == expected == "a: b;ä: <c>;"


@pytest.mark.parametrize("name", TEMPLATES)
def test_which_templates_read_tools_is_seen_in_the_prompt(name: str) -> None:
    template = ChatTemplate.from_config(TEMPLATES[name], TOKENS)
    reads_tools = template.reads_tools([Message("user", "x")], TOOLS)
    assert reads_tools == (name not in ("chatml", "open think", "tools left out"))


def test_a_developer_is_the_system_where_the_template_knows_none() -> None:
    messages = [Message("developer", "Be brief."), Message("user", "x")]
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "x"}]
    assert render(CHATML, messages) == render(CHATML, turns)
    assert render("{{ messages[0].role }} is no developer", messages) == "developer is no developer"
    assert render(TEMPLATES["harmony"], messages) == render(TEMPLATES["harmony"], turns)


@pytest.mark.parametrize("arguments", ['{"a": 1', "", "[" * 100_000])
def test_arguments_that_are_no_json_stay_text(arguments: str) -> None:
    call = ToolCall("abcdefgh1", "now", arguments)
    template = "{{ messages[0].tool_calls[0].function.arguments is string }}"
    assert render(template, [Message("assistant", "", tool_calls=(call,))]) == "True"
