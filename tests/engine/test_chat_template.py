"""Chat templates render as in transformers, and a hostile one is refused within bounds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import CheckpointError, UnsupportedError
from app.engine import template_sandbox
from app.engine.chat_template import ChatTemplate
from app.engine.request import Message
from app.engine.tokenizer import Tokenizer
from tests.starter_tokenizer import build_files, write_files

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "<now> & 'later'",
            "parameters": {"city": "Köln"},
        },
    }
]
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "user": [{"role": "user", "content": "Hi <b> 'q' \"d\" 你\n"}],
    "system": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Bye\n\n"},
    ],
    "tool": [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Köln"}}}],
        },
        {"role": "tool", "content": '{"degrees": 3}'},
    ],
}
# What published templates use: whitespace control, namespaces, loop controls, macros, filters.
TEMPLATES = {
    "chatml": """{% for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + (message.content or '') | trim + '<|im_end|>\\n' }}
{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "blocks": """{{ bos_token }}
  {% set ns = namespace(count=0, last='') %}
  {% for message in messages if message.role != 'system' %}
    {% set ns.count = ns.count + 1 %}
    {% set ns.last = ns.last ~ loop.index0 ~ loop.length ~ loop.first ~ message.role %}
  {% else %}
none
  {% endfor %}
{{ ns.count }}:{{ ns.last }}{{ eos_token }}""",
    "tools": """{% if tools is defined and tools is not none %}{% for tool in tools %}
{{ tool | tojson }}
{{ tool | tojson(indent=2) }}
{% endfor %}{% endif %}
{% for message in messages %}{% if message.tool_calls %}
{% for call in message.tool_calls %}
<tool_call>{{ call.function.name }}
{{ call.function.arguments | tojson(sort_keys=true) }}</tool_call>
{% endfor %}
{% elif message.role == 'tool' %}<result>{{ message.content }}</result>{% endif %}
{% endfor %}""",
    "macro": """{% macro turn(role, text) %}[{{ role | upper }}] {{ text }}{% endmacro %}
{% for message in messages %}{{ turn(message['role'], message.get('content', '')) }}
{% if loop.index == 2 %}{% break %}{% endif %}{% endfor %}""",
    "capture": """{% set head %}{{ bos_token }}{{ messages | length }}{% endset %}{{ head }}
{% for message in messages %}{% if message.role == 'system' %}{% continue %}{% endif %}
{{ message.content is string }}{{ (message.content or '').split(' ')[-1].strip() }}{% endfor %}
{{ messages[::-1] | map(attribute='role') | join(',') }}{{ range(3) | list }}""",
    "generation": """{% for message in messages %}{% if message.role == 'assistant' %}
{% generation %}{{ message.content }}{{ eos_token }}{% endgeneration %}
{% else %}{{ message.content }}{% endif %}{% endfor %}""",
    "thinking": """{% if enable_thinking is defined and not enable_thinking %}<think>
</think>{% endif %}{{ messages[-1].content or 'nothing' }}{{ documents }}{{ unknown_variable }}""",
    "refuses": """{% if messages[0].role == 'system' %}
{{ raise_exception('No system role') }}{% endif %}ok""",
    "broken": """{{ messages[0].content.nothing.more }}""",
    "arithmetic": """{{ '%02d' % 5 }}{{ 'x' | center(5) }}
{{ 'ab'.ljust(4) }}{{ '%s' | format('y') }}
{{ 3 * 'ab' }}{{ 2 ** 3 }}{{ 7 % 3 }}{{ [1] + [2] }}
{{ 'a' + 'b' ~ 1 ~ none }}{{ [0] * 2 }}""",
}  # fmt: skip


def _render_by_transformers(
    template: str, conversation: list[dict[str, Any]], **options: Any
) -> str:
    from transformers.utils.chat_template_utils import render_jinja_template

    try:
        rendered, _ = render_jinja_template(
            [conversation], chat_template=template, **TOKENS, **options
        )
    except Exception as error:  # noqa: BLE001 - whatever a template raises is what we compare
        return f"refused: {error}"
    text: str = rendered[0]
    return text


def _render(template: str, conversation: list[dict[str, Any]], **options: Any) -> str:
    try:
        return ChatTemplate.from_config(template, TOKENS).render(conversation, **options)
    except UnsupportedError as error:
        return f"refused: {error.message.partition(': ')[2]}"


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["no_tools", "tools"])
def test_every_feature_renders_as_in_transformers(
    template: str, conversation: str, tools: list[dict[str, Any]] | None
) -> None:
    for options in (
        {"add_generation_prompt": True},
        {"add_generation_prompt": False, "enable_thinking": False},
    ):
        case = (TEMPLATES[template], CONVERSATIONS[conversation])
        assert _render(*case, tools=tools, **options) == _render_by_transformers(
            *case, tools=tools, **options
        )


def test_the_comparison_covers_refusals_and_results() -> None:
    assert _render(TEMPLATES["refuses"], CONVERSATIONS["system"]) == "refused: No system role"
    assert _render(TEMPLATES["refuses"], CONVERSATIONS["user"]) == "ok"


def test_the_starter_chat_equals_transformers_text_and_ids(
    starter_gguf: Path, tmp_path: Path
) -> None:
    from transformers import PreTrainedTokenizerFast

    write_files(build_files(starter_gguf), tmp_path)
    oracle = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    tokenizer = Tokenizer.from_dir(tmp_path)
    assert tokenizer.chat_template
    for name in ("user", "system"):
        turns = CONVERSATIONS[name]
        text = tokenizer.chat_template.render(
            [Message(turn["role"], turn["content"]) for turn in turns]
        )
        assert text == oracle.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        ids = oracle.apply_chat_template(turns, add_generation_prompt=True, return_dict=False)
        assert tokenizer.encode_chat(text) == ids


@pytest.mark.parametrize("answer", ["Hello! I am", "One\n\ntwo ", "Hi"])
def test_a_reply_that_goes_on_is_open_as_in_transformers(answer: str) -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": answer}]
    template = ChatTemplate.from_config(TEMPLATES["chatml"], TOKENS)
    text = template.render_open([Message(turn["role"], turn["content"]) for turn in turns])
    assert text == _render_by_transformers(
        TEMPLATES["chatml"], turns, add_generation_prompt=False, continue_final_message=True
    )
    assert text.endswith(answer.strip())


def test_a_template_that_hides_the_reply_cannot_let_it_go_on() -> None:
    template = ChatTemplate.from_config("{{ messages | length }}", TOKENS)
    with pytest.raises(UnsupportedError, match="cannot go on"):
        template.render_open([Message("user", "Hi"), Message("assistant", "Hello")])


def test_the_date_is_today() -> None:
    template = ChatTemplate.from_config("{{ strftime_now('%Y-%m-%d') }}", {})
    assert time.strptime(template.render([]), "%Y-%m-%d") >= time.strptime("2024-01-01", "%Y-%m-%d")


def test_named_templates_are_chosen_by_tools() -> None:
    entries = [
        {"name": "default", "template": "plain"},
        {"name": "tool_use", "template": "with tools"},
    ]
    template = ChatTemplate.from_config(entries, {})
    assert template.render([]) == "plain"
    assert template.render([], tools=TOOLS) == "with tools"
    only_default = ChatTemplate.from_config(entries[:1], {})
    assert only_default.render([], tools=TOOLS) == "plain"


def test_a_named_set_without_default_is_refused_in_one_sentence() -> None:
    template = ChatTemplate.from_config([{"name": "rag", "template": "x"}], {})
    with pytest.raises(UnsupportedError, match=r"no default chat template, only: rag\.$"):
        template.render([])


@pytest.mark.parametrize("text", ["{% for %}", "{% break %}", "{{ 1 | nothing }}"])
def test_a_template_that_does_not_compile_is_one_sentence(text: str) -> None:
    template = ChatTemplate.from_config(text, {})
    with pytest.raises(UnsupportedError, match="chat template cannot be read: "):
        template.render([])


@pytest.mark.parametrize(
    "text",
    [
        "{{ messages + 1 }}",
        "{{ 1 // 0 }}",
        "{{ [].items() }}",
        "{{ 'x'.encode('no such') }}",
        "{{ 'x'.rjust('y') }}",
        "{{ 'x'.index('y') }}",
        "{{ 10.0 ** 64 ** 2 }}",
    ],
)
def test_a_template_that_stumbles_is_one_sentence(text: str) -> None:
    with pytest.raises(UnsupportedError, match=r"refused this conversation: ."):
        ChatTemplate.from_config(text, {}).render([])


def test_too_little_memory_is_not_the_template_s_word() -> None:
    class Heavy:
        def __str__(self) -> str:
            raise MemoryError

    with pytest.raises(MemoryError):
        ChatTemplate.from_config("{{ messages[0].content }}", {}).render([{"content": Heavy()}])


@pytest.mark.parametrize("value", [7, [], [7], {"a": 1}, [{"name": "default"}], [{"template": 3}]])
def test_what_is_no_template_is_named(value: object) -> None:
    with pytest.raises(CheckpointError, match="chat template is no text"):
        ChatTemplate.from_config(value, {})


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ raise_exception.__globals__['json'] }}",
        "{{ ('%s' | attr('format')).__globals__['x'] }}",
        "{% include 'x' %}",
    ],
)
def test_the_sandbox_holds(template: str) -> None:
    with pytest.raises(UnsupportedError, match="refused this conversation"):
        ChatTemplate.from_config(template, {}).render([{"role": "user", "content": "x"}])


def _doubled(step: str) -> str:
    return "{% set n = namespace(s='x') %}{% for i in range(99) %}" + step + "{% endfor %}"


_ENDLESS = {
    "nested loops": "{% for a in range(9**5) %}{% for b in range(9**5) %}{% endfor %}{% endfor %}",
    "huge product": "{{ 'x' * 10 ** 9 }}",
    "huge list": "{{ [0] * 10 ** 9 }}",
    "huge power": "{{ 9 ** (9 ** 9) }}",
    "doubling by ~": _doubled("{% set n.s = n.s ~ n.s %}"),
    "doubling by +": _doubled("{% set n.s = n.s + n.s %}"),
    "doubling by join": _doubled("{% set n.s = [n.s, n.s] | join %}"),
    "doubling by capture": _doubled("{% set t %}{{ n.s }}{{ n.s }}{% endset %}{% set n.s = t %}"),
    "doubling by macro": "{% macro m(n) %}{{ m(n - 1) }}{{ m(n - 1) }}{% endmacro %}{{ m(99) }}",
    "long output": "{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
    "wide format": "{{ '%999999999d' % 1 }}",
    "wide format filter": "{{ '%999999999d' | format(1) }}",
    "wide padding": "{{ 'x'.ljust(10 ** 10) }}",
    "wide filter": "{{ 'x' | center(10 ** 10) }}",
    "recursion": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
}  # fmt: skip


@pytest.mark.parametrize("name", _ENDLESS)
def test_a_template_without_end_is_refused_soon(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_sandbox, "MAX_RENDER_S", 0.3)
    start = time.thread_time()
    with pytest.raises(UnsupportedError, match="refused this conversation"):
        ChatTemplate.from_config(_ENDLESS[name], {}).render([])
    assert time.thread_time() - start < 5  # this thread's own work, however busy the machine is


def test_a_text_that_is_too_long_is_named_with_its_limit() -> None:
    with pytest.raises(UnsupportedError, match="more than 8,388,608 characters"):
        ChatTemplate.from_config(_ENDLESS["huge product"], {}).render([])


def test_a_refused_rendering_leaves_the_next_one_its_full_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    template = ChatTemplate.from_config("{% for m in messages %}{{ m.content }}{% endfor %}", {})
    monkeypatch.setattr(template_sandbox, "MAX_RENDER_S", -1.0)
    with pytest.raises(UnsupportedError, match="seconds"):
        template.render([Message("user", "x")])
    monkeypatch.undo()
    assert template.render([Message("user", "x")]) == "x"
