"""Chat templates: the Jinja programs that models ship.

Variables, filters and functions are those of transformers' `apply_chat_template`, so that a
template renders the same. Templates are programs by strangers: they run in a bounded sandbox, and
what they raise becomes one sentence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2

from app.core.errors import CheckpointError, UnsupportedError
from app.engine.request import Message, ToolCall
from app.engine.template_sandbox import BoundedEnvironment

SPECIAL_TOKEN_NAMES = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
# What a program by a stranger may end in: Jinja's own errors and those of the Python operations
# that it reaches; SyntaxError from Jinja's output, such as for a `break` outside a loop.
_FAULTS = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


class ChatTemplate:
    """A model's template, or a named set: with tools `tool_use` is taken, else `default`."""

    def __init__(self, sources: Mapping[str, str], special_tokens: Mapping[str, str]) -> None:
        """`special_tokens`: the texts of `bos_token` and its like, variables of the template."""
        self._sources = dict(sources)
        self._special_tokens = dict(special_tokens)
        self._environment = _create_environment()
        self._compiled: dict[str, jinja2.Template] = {}

    @classmethod
    def from_config(cls, chat_template: object, special_tokens: Mapping[str, str]) -> ChatTemplate:
        """From tokenizer_config.json: one text, or a list of objects `name` and `template`.

        Raises `CheckpointError` for anything else.
        """
        named = {"default": chat_template}
        if isinstance(chat_template, list):
            entries = [entry for entry in chat_template if isinstance(entry, dict)]
            named = {str(entry.get("name")): entry.get("template") for entry in entries}
        sources = {name: text for name, text in named.items() if isinstance(text, str)}
        if not sources or len(sources) < len(named):
            raise CheckpointError("tokenizer_config.json is damaged: its chat template is no text.")
        return cls(sources, special_tokens)

    def render(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **variables: Any,
    ) -> str:
        """The prompt. Raises `UnsupportedError` with the template's own words when it refuses,
        or when it cannot be compiled.

        `variables` are those a template may read besides, for instance `enable_thinking`.
        """
        source = self.source(with_tools=bool(tools))
        turns = [_to_turn(turn) if isinstance(turn, Message) else dict(turn) for turn in messages]
        if "developer" not in source:
            turns = [_without_developer(turn) for turn in turns]
        scope = {"documents": None, **self._special_tokens, **variables}
        scope |= {
            "messages": turns,
            "tools": tools or None,
            "add_generation_prompt": add_generation_prompt,
        }
        template = self._select(source)
        try:
            return self._generate(template, scope)
        except _FAULTS as error:
            raise UnsupportedError(
                "The model's chat template refused this conversation: {error}", error=error
            ) from error

    def render_open(self, messages: Sequence[Message], **variables: Any) -> str:
        """The prompt up to where the last message ends, for a reply that goes on.

        As transformers' `continue_final_message`. Raises as `render`, and UnsupportedError where
        the template does not write the last message as it is.
        """
        text = self.render(messages, add_generation_prompt=False, **variables)
        content = messages[-1].content.strip()
        position = text.rfind(content) if content else -1
        if position < 0:
            raise UnsupportedError(
                "The model's chat template does not show this reply as it is: it cannot go on."
            )
        return text[: position + len(content)]

    def reads_tools(
        self, messages: Sequence[Message | Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> bool:
        """Whether `tools` make any difference to the prompt. Raises as `render`."""
        return self.render(messages, tools=tools) != self.render(messages)

    def source(self, *, with_tools: bool = False) -> str:
        """The Jinja program. Raises `UnsupportedError` where there is only one for other uses."""
        wanted = ("tool_use", "default") if with_tools else ("default",)
        name = next((name for name in wanted if name in self._sources), None)
        if name is None:
            known = ", ".join(sorted(self._sources))
            raise UnsupportedError(
                "The model has no default chat template, only: {known}.", known=known
            )
        return self._sources[name]

    def _select(self, source: str) -> jinja2.Template:
        if source not in self._compiled:
            self._compiled[source] = self._compile(source)
        return self._compiled[source]

    def _generate(self, template: jinja2.Template, scope: Mapping[str, Any]) -> str:
        self._environment.start_clock()
        text = ""
        for piece in template.generate(scope):
            text += piece
            self._environment.check_size(text)
        return text

    def _compile(self, source: str) -> jinja2.Template:
        try:
            return self._environment.compile_bounded(source)
        except _FAULTS as error:
            raise UnsupportedError(
                "The model's chat template cannot be read: {error}", error=error
            ) from error


def _to_turn(message: Message) -> dict[str, Any]:
    """What transformers gives a template; what a message does not have, the turn does not have.

    The arguments of calls are an object, not its text: so templates write them as JSON.
    """
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    for name in ("name", "tool_call_id", "reasoning_content"):
        value = getattr(message, name)
        if value is not None:
            turn[name] = value
    if message.tool_calls:
        turn["tool_calls"] = [_to_call(call) for call in message.tool_calls]
    return turn


def _without_developer(turn: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's newer name of the system prompt, which most templates do not know."""
    return turn | {"role": "system"} if turn.get("role") == "developer" else turn


def _to_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": _parse_arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _parse_arguments(arguments: str) -> Any:
    """The object; a text that is no JSON stays a text, as the model may have written it so."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _create_environment() -> BoundedEnvironment:
    environment = BoundedEnvironment()
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _format_now
    return environment


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Plain JSON: Jinja's own `tojson` escapes what HTML would misread."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _format_now(pattern: str) -> str:
    return datetime.now().astimezone().strftime(pattern)
