"""What holds a reply to its request, in the model's own format: thoughts first, then the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from app.core.errors import UsageError
from app.engine.constraint import Constraint, Grammar
from app.engine.grammar import json_schema_of, quote, schema_text
from app.engine.output_parser import harmony, hermes, listed_calls, mistral
from app.engine.output_parser.reply_format import CallFormat, ReplyFormat, detect_format
from app.engine.request import Request
from app.engine.tokenizer import Tokenizer
from app.engine.tools import tool_name, tool_parameters

_MAX_CALLS = 8  # a model that repeats itself would never end
_ANYTHING = r"(.|\n)*"
_WHITE = r"/[\x20\n]{1,4}/"


def reply_constraint(tokenizer: Tokenizer, request: Request) -> Constraint | None:
    """The request's constraint, or that of a forced call, behind the thoughts of a model that
    thinks; None where the reply is free. Where a constrained request has tools, the model may call
    them instead.

    Raises UsageError where calls are to be held of a model whose format of calls is not known.
    """
    if request.prompt is not None or (request.constraint is None and request.forced_tool is None):
        return request.constraint
    writer = _GrammarWriter(tokenizer, detect_format(tokenizer, request))
    if request.forced_tool is not None:
        return writer.write_calls(_chosen_tools(request), request.forced_tool.name is None)
    assert request.constraint is not None
    return writer.write_answer(request.constraint, request.tools)


def _chosen_tools(request: Request) -> Sequence[Mapping[str, Any]]:
    assert request.forced_tool is not None
    name = request.forced_tool.name
    tools = [tool for tool in request.tools if name is None or tool_name(tool) == name]
    if not tools:
        if name is None:
            raise UsageError("No tools.")
        raise UsageError("There is no tool {name!r} to be called.", name=name)
    return tools


class _GrammarWriter:
    """Writes Lark for one model's format."""

    def __init__(self, tokenizer: Tokenizer, reply_format: ReplyFormat) -> None:
        self._tokenizer = tokenizer
        self._format = reply_format
        self._is_harmony = reply_format.calls is CallFormat.HARMONY

    def write_answer(
        self, constraint: Constraint, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Constraint:
        """The answer is held, or calls of `tools` come in its place; thoughts before are free."""
        if not self._format.thinks and not tools:
            return constraint
        if tools and self._format.calls is CallFormat.LLAMA3:
            # Both begin with a brace, and llguidance's lexer does not go back.
            raise UsageError(
                "This model writes calls as bare JSON: a response_format and tools that it may or "
                "may not call cannot both hold for one reply; with tool_choice `none` the format "
                "holds."
            )
        head = self._join(harmony.CHANNEL, "final", harmony.MESSAGE) if self._is_harmony else ""
        rules = [f"reply: {head} answer{' | calls' if tools else ''}"]
        rules += self._call_rules(tools, may_repeat=True) if tools else []
        if isinstance(constraint, Grammar):
            return self._finish([*rules, "answer: @answer"], (("answer", constraint.lark),))
        return self._finish([*rules, f"answer: %json {schema_text(json_schema_of(constraint))}"])

    def write_calls(self, tools: Sequence[Mapping[str, Any]], may_repeat: bool) -> Grammar:
        """One call of one of `tools`, or several where the format and `may_repeat` allow it."""
        return self._finish(["reply: calls", *self._call_rules(tools, may_repeat)])

    def _finish(self, rules: Iterable[str], parts: tuple[tuple[str, str], ...] = ()) -> Grammar:
        thoughts = self._thoughts() if self._format.thinks else ""
        start = f"start: {thoughts} reply"
        return Grammar("\n".join([start, *rules, *self._thought_rules()]), parts)

    def _call_rules(self, tools: Sequence[Mapping[str, Any]], may_repeat: bool) -> list[str]:
        write = self._call_writer()
        start, between, end, repeats = self._frame()
        rules = [f"call_{i}: {write(tool_name(tool), i)}" for i, tool in enumerate(tools)]
        rules += [
            f"arguments_{i}: %json {schema_text(tool_parameters(tool))}"
            for i, tool in enumerate(tools)
        ]
        names = " | ".join(f"call_{i}" for i in range(len(tools)))
        more = f"({between} call){{0,{_MAX_CALLS - 1}}}" if may_repeat and repeats else ""
        return [*rules, f"calls: {start} call {more} {end}", f"call: {names}"]

    def _frame(self) -> tuple[str, str, str, bool]:
        """What stands before, between and behind calls, and whether there may be several."""
        match self._format.calls:
            case CallFormat.HERMES:
                return "", quote("\n"), "", True
            case CallFormat.MISTRAL:
                return self._join(mistral.TOOL_CALLS, "["), quote(", "), quote("]"), True
            case CallFormat.LISTED:
                return self._join(listed_calls.OPENING, "["), quote(", "), quote("]"), True
            case CallFormat.MISTRAL_NAMED:
                return "", "", "", True
            case _:
                return "", "", "", False

    def _call_writer(self) -> Callable[[str, int], str]:
        """(name, number of the rule of its arguments) -> the call, in Lark."""
        match self._format.calls:
            case CallFormat.HERMES:
                opening = self._join(hermes.OPENING, "\n")
                closing = self._join("\n", hermes.CLOSING)
                return lambda name, i: f"{opening} {_json_call(name, i, 'arguments')} {closing}"
            case CallFormat.LLAMA3:
                return lambda name, i: _json_call(name, i, "parameters")
            case CallFormat.MISTRAL | CallFormat.LISTED:
                return lambda name, i: _json_call(name, i, "arguments")
            case CallFormat.MISTRAL_NAMED:
                return lambda name, i: (
                    f"{self._join(mistral.TOOL_CALLS, name, mistral.ARGS)} arguments_{i}"
                )
            case CallFormat.HARMONY:
                return lambda name, i: f"{self._join(*_harmony_head(name))} arguments_{i}"
        raise UsageError(
            "How this model writes calls of tools is not known, so that none can be forced, nor "
            "stand in place of a reply that is held to a format."
        )

    def _thoughts(self) -> str:
        if self._is_harmony:
            return "thoughts?"
        return "thoughts white?" if self._format.think.is_open else "(thoughts white?)?"

    def _thought_rules(self) -> Iterable[str]:
        if not self._format.thinks:
            return []
        if self._is_harmony:
            head = self._join(harmony.CHANNEL, "analysis", harmony.MESSAGE)
            tail = self._join(harmony.END, harmony.START, "assistant")
            return [f"thoughts: {head} /{_ANYTHING}/ {tail}"]
        return [self._think_rule(), f"white: {_WHITE}"]

    def _think_rule(self) -> str:
        think = self._format.think
        opening = "" if think.is_open else think.opening
        if self._special_id(think.closing) is not None:
            head = self._join(opening) if opening else ""
            return f"thoughts: {head} /{_ANYTHING}/ {self._join(think.closing)}"
        if opening and self._special_id(opening) is not None:
            return f"thoughts: {self._join(opening)} rest\n" + self._lazy_rule("rest", "")
        return self._lazy_rule("thoughts", opening)

    def _lazy_rule(self, name: str, opening: str) -> str:
        closing = self._format.think.closing
        pattern = f"{re.escape(opening)}{_ANYTHING}{re.escape(closing)}".replace("/", r"\/")
        return f"{name}[lazy]: /{pattern}/"

    def _join(self, *parts: str) -> str:
        """Texts one after the other; special tokens as such."""
        return " ".join(self._literal(part) for part in parts)

    def _literal(self, text: str) -> str:
        token_id = self._special_id(text)
        return quote(text) if token_id is None else f"<[{token_id}]>"

    def _special_id(self, text: str) -> int | None:
        token_id = self._tokenizer.find_token(text)
        is_special = token_id is not None and self._tokenizer.is_special(token_id)
        return token_id if is_special else None


def _json_call(name: str, index: int, key: str) -> str:
    head = f'{{"name": {quote(name)}, "{key}": '
    return f"{quote(head)} arguments_{index} {quote('}')}"


def _harmony_head(name: str) -> tuple[str, ...]:
    recipient = f"commentary to=functions.{name} "
    return harmony.CHANNEL, recipient, harmony.CONSTRAIN, "json", harmony.MESSAGE
