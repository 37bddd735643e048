"""In which format a model writes its replies, as its chat template and special tokens tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from app.core.errors import UnsupportedError
from app.engine.chat_template import ChatTemplate
from app.engine.output_parser import harmony, hermes, listed_calls, llama3, mistral
from app.engine.output_parser.reasoning import ThinkMarkers
from app.engine.request import Message, Request
from app.engine.tokenizer import Tokenizer

_MISTRAL_THINK = ThinkMarkers("[THINK]", "[/THINK]")


class CallFormat(Enum):
    """How calls of tools are written; UNKNOWN: all is content."""

    HERMES = "hermes"
    LLAMA3 = "llama3"
    MISTRAL = "mistral"
    MISTRAL_NAMED = "mistral, name before arguments"
    LISTED = "listed"
    HARMONY = "harmony"
    UNKNOWN = "unknown"


_MARKERS: Mapping[CallFormat, tuple[str, ...]] = {
    CallFormat.HERMES: (hermes.OPENING, hermes.CLOSING),
    CallFormat.LLAMA3: (llama3.PYTHON_TAG,),
    CallFormat.MISTRAL: (mistral.TOOL_CALLS, mistral.ARGS, mistral.CALL_ID),
    CallFormat.MISTRAL_NAMED: (mistral.TOOL_CALLS, mistral.ARGS, mistral.CALL_ID),
    CallFormat.LISTED: (listed_calls.OPENING, listed_calls.CLOSING),
    CallFormat.HARMONY: harmony.MARKERS,
    CallFormat.UNKNOWN: (),
}


@dataclass(frozen=True, slots=True)
class ReplyFormat:
    """`thinks`: the model may write thoughts before its answer, within `think`."""

    calls: CallFormat
    think: ThinkMarkers
    thinks: bool

    @property
    def markers(self) -> tuple[str, ...]:
        """All texts that divide a reply; special tokens among them are needed by the parser."""
        return (*_MARKERS[self.calls], self.think.opening, self.think.closing)


def detect_format(tokenizer: Tokenizer, request: Request) -> ReplyFormat:
    """The format of the reply to a chat."""
    template = tokenizer.chat_template
    if template is None:
        return ReplyFormat(CallFormat.UNKNOWN, ThinkMarkers(), thinks=False)
    source = template.source(with_tools=bool(request.tools))
    calls = _detect_calls(source, tokenizer)
    if request.tools and not template.reads_tools(request.messages, request.tools):
        calls = CallFormat.HERMES  # that is what `app.engine.tool_prompt` asks for
    if calls is CallFormat.HARMONY:
        return ReplyFormat(calls, ThinkMarkers(), thinks=True)
    is_mistral = _is_known(_MISTRAL_THINK.opening, source, tokenizer)
    think = _MISTRAL_THINK if is_mistral else ThinkMarkers()
    is_known = any(_is_known(text, source, tokenizer) for text in (think.opening, think.closing))
    if not is_known or request.continues_reply:  # which has its thoughts behind it
        return ReplyFormat(calls, think, thinks=False)
    end = _render_probe(template, request.template_kwargs)
    opened, closed = end.rfind(think.opening), end.rfind(think.closing)
    think = ThinkMarkers(think.opening, think.closing, is_open=opened > closed)
    return ReplyFormat(calls, think, thinks=opened >= closed)


def shown_special_ids(tokenizer: Tokenizer, request: Request) -> frozenset[int]:
    """Special tokens that stay in the text for a parser: the caller's, or that of thoughts."""
    if request.prompt is not None:
        return frozenset()
    reply_format = detect_format(tokenizer, request)
    if not request.shows_markers and not reply_format.thinks:
        return frozenset()
    found = map(tokenizer.find_token, reply_format.markers)
    return frozenset(token_id for token_id in found if token_id is not None)


def _detect_calls(source: str, tokenizer: Tokenizer) -> CallFormat:
    if harmony.CHANNEL in source and tokenizer.find_token(harmony.CHANNEL) is not None:
        return CallFormat.HARMONY
    if mistral.TOOL_CALLS in source:
        is_named = _is_known(mistral.ARGS, source, tokenizer)
        return CallFormat.MISTRAL_NAMED if is_named else CallFormat.MISTRAL
    if hermes.OPENING in source:
        return CallFormat.HERMES
    if listed_calls.OPENING in source:
        return CallFormat.LISTED
    if llama3.PYTHON_TAG in source or ("<|start_header_id|>" in source and "tools" in source):
        return CallFormat.LLAMA3
    return CallFormat.UNKNOWN


def _is_known(marker: str, source: str, tokenizer: Tokenizer) -> bool:
    return marker in source or tokenizer.find_token(marker) is not None


def _render_probe(template: ChatTemplate, template_kwargs: Mapping[str, Any]) -> str:
    """A short prompt: its end tells whether the template begins the thoughts itself."""
    try:
        return template.render([Message("user", "?")], **template_kwargs)
    except UnsupportedError:
        return ""
