"""Chat templates: the Jinja programs that models ship.

Variables, filters and functions are those of transformers' `apply_chat_template`, so that a
template renders the same. Templates are programs by strangers: they run in a bounded sandbox, and
what they raise becomes one sentence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, NoReturn

import jinja2

from app.core.errors import UnsupportedError
from app.engine.request import Message
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


class ChatTemplate:
    """A model's template, or a named set: with tools `tool_use` is taken, else `default`."""

    def __init__(self, sources: Mapping[str, str], special_tokens: Mapping[str, str]) -> None:
        """`special_tokens`: the texts of `bos_token` and its like, variables of the template."""
        self._special_tokens = dict(special_tokens)
        self._environment = _create_environment()
        self._templates = {name: self._compile(source) for name, source in sources.items()}

    @classmethod
    def from_config(
        cls, chat_template: str | Sequence[Mapping[str, str]], special_tokens: Mapping[str, str]
    ) -> ChatTemplate:
        """From tokenizer_config.json: one text, or a list of objects `name` and `template`."""
        if isinstance(chat_template, str):
            return cls({"default": chat_template}, special_tokens)
        return cls({entry["name"]: entry["template"] for entry in chat_template}, special_tokens)

    def render(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **variables: Any,
    ) -> str:
        """The prompt. Raises `UnsupportedError` with the template's own words when it refuses.

        `variables` are those a template may read besides, for instance `enable_thinking`.
        """
        turns = [asdict(turn) if isinstance(turn, Message) else dict(turn) for turn in messages]
        scope = {"documents": None, **self._special_tokens, **variables}
        scope |= {"messages": turns, "tools": tools, "add_generation_prompt": add_generation_prompt}
        template = self._select(tools)
        try:
            return self._generate(template, scope)
        except Exception as error:
            raise UnsupportedError(
                f"The model's chat template refused this conversation: {error}"
            ) from error

    def _select(self, tools: Sequence[Mapping[str, Any]] | None) -> jinja2.Template:
        wanted = ("tool_use", "default") if tools else ("default",)
        for name in wanted:
            if name in self._templates:
                return self._templates[name]
        known = ", ".join(sorted(self._templates))
        raise UnsupportedError(f"The model has no default chat template, only: {known}.")

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
        except Exception as error:
            raise UnsupportedError(f"The model's chat template cannot be read: {error}") from error


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
