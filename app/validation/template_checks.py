"""The chat template: rendered turns, bos, generation prompt, and what ends a turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from app.core.errors import UnsupportedError
from app.core.sentence import Sentence, clauses
from app.core.validation_events import PromptsRendered, RenderedPrompt
from app.engine.chat_template import ChatTemplate
from app.engine.tokenizer import Tokenizer
from app.validation.check import NotRunError, Outcome
from app.validation.context import Context
from app.validation.generation_facts import stop_ids
from app.validation.reference_tokenizer import load_reference_tokenizer
from app.validation.texts import load_tokenizer, text_folder

Turn = dict[str, Any]
_SYSTEM: Turn = {"role": "system", "content": "You are terse."}
_USER: Turn = {"role": "user", "content": "What is 2 + 2?"}
_ANSWER: Turn = {"role": "assistant", "content": "It is 4."}
_AGAIN: Turn = {"role": "user", "content": "And 3 + 3?"}
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
        },
    }
]
_CALL: Turn = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {
            "id": "call00001",
            "type": "function",
            "function": {"name": "add", "arguments": {"a": 2, "b": 2}},
        }
    ],
}
_RESULT: Turn = {
    "role": "tool",
    "name": "add",
    "tool_call_id": "call00001",
    "content": json.dumps({"sum": 4}),
}
# The first must render; a template may refuse roles that its model does not know.
_CONVERSATIONS: Mapping[str, tuple[Sequence[Turn], Sequence[Turn] | None]] = {
    Sentence("user"): ([_USER], None),
    Sentence("system, user"): ([_SYSTEM, _USER], None),
    Sentence("system, user, assistant, user"): ([_SYSTEM, _USER, _ANSWER, _AGAIN], None),
    Sentence("user, tool call, tool result"): ([_USER, _CALL, _RESULT], _TOOLS),
}


def check_chat_template(context: Context) -> Outcome:
    """All conversations; emits what they become."""
    tokenizer, template = _load(context)
    reference = load_reference_tokenizer(context, text_folder(context))
    faults, refused, compared = [], [], 0
    for turns, (messages, tools) in _CONVERSATIONS.items():
        try:
            text = template.render(messages, tools=tools)
        except UnsupportedError as error:
            if turns == "user":
                return Outcome(False, error.message)
            refused.append(turns)
            continue
        context.prompts.append(RenderedPrompt(turns, text))
        faults += _faults(tokenizer, template, turns, text)
        wanted = _reference_text(reference, messages, tools)
        compared += wanted is not None
        if wanted is not None and wanted != text:
            faults.append(_first_difference(turns, text, wanted))
    context.emit(PromptsRendered(tuple(context.prompts)))
    metrics = {"rendered": len(context.prompts), "refused": len(refused), "compared": compared}
    if faults:
        return Outcome(False, Sentence("{faults}.", faults=clauses(faults)), metrics)
    values = {"count": len(context.prompts), "compared": compared}
    found = Sentence(
        "{count} conversations render, {compared} of them compared with transformers', bos at most "
        "once.",
        **values,
    )
    if refused:
        found = Sentence(
            "{count} conversations render, {compared} of them compared with transformers', bos at "
            "most once; refused by the template itself: {refused}.",
            refused=" / ".join(refused),
            **values,
        )
    return Outcome(True, found, metrics)


def check_stop_tokens(context: Context) -> Outcome:
    """Ids in the vocabulary, among them what the template puts behind a reply."""
    spec, tokenizer = context.needed_spec, load_tokenizer(context)
    ids = stop_ids(context, tokenizer)
    shown = ", ".join(f"{token_id} {_token(tokenizer, token_id)!r}" for token_id in sorted(ids))
    if not ids:
        return Outcome(False, Sentence("No token ends a reply: neither file names an eos token."))
    if outside := sorted(token_id for token_id in ids if token_id >= spec.vocab_size):
        return Outcome(
            False, Sentence("Stop token {token_id} is outside the vocabulary.", token_id=outside[0])
        )
    if tokenizer.chat_template is None:
        return Outcome(
            True,
            Sentence("Replies stop at {shown}; there is no chat template to ask.", shown=shown),
        )
    end = _end_of_turn(tokenizer, tokenizer.chat_template)
    if end is None:
        return Outcome(
            True,
            Sentence("Replies stop at {shown}; the template ends turns by no token.", shown=shown),
        )
    if end not in ids:
        ending = f"{end} {_token(tokenizer, end)!r}"
        return Outcome(
            False,
            Sentence(
                "The template ends a reply with {ending}; stop tokens are {shown}.",
                ending=ending,
                shown=shown,
            ),
        )
    return Outcome(
        True,
        Sentence(
            "Replies stop at {shown}; the template ends them with {end}.", shown=shown, end=end
        ),
    )


def _load(context: Context) -> tuple[Tokenizer, ChatTemplate]:
    tokenizer = load_tokenizer(context)
    if tokenizer.chat_template is None:
        raise NotRunError(Sentence("the model has no chat template"))
    return tokenizer, tokenizer.chat_template


def _faults(tokenizer: Tokenizer, template: ChatTemplate, turns: str, text: str) -> list[str]:
    """Faults that show without a reference."""
    found: list[str] = []
    messages, tools = _CONVERSATIONS[turns]
    ids, bos = tokenizer.encode_chat(text), tokenizer.bos_token_id
    if bos is not None and ids[:2] == [bos, bos]:
        found.append(Sentence("{turns}: the prompt begins with bos twice", turns=turns))
    plain = template.render(messages, tools=tools, add_generation_prompt=False)
    if not text.startswith(plain):
        found.append(
            Sentence("{turns}: the generation prompt changes what stands before it", turns=turns)
        )
    for message in messages:
        content = message["content"]
        if content and content.strip() not in text and message["role"] != "tool":
            found.append(
                Sentence("{turns}: the {role} turn is lost", turns=turns, role=message["role"])
            )
    return found


def _reference_text(
    reference: Any | None, messages: Sequence[Turn], tools: Sequence[Turn] | None
) -> str | None:
    if reference is None or not getattr(reference, "chat_template", None):
        return None
    try:
        return str(
            reference.apply_chat_template(
                list(messages), tools=tools, tokenize=False, add_generation_prompt=True
            )
        )
    except (ValueError, TypeError, KeyError):
        return None


def _first_difference(turns: str, text: str, wanted: str) -> str:
    at = next(
        (i for i, (ours, theirs) in enumerate(zip(text, wanted, strict=False)) if ours != theirs),
        min(len(text), len(wanted)),
    )
    return Sentence(
        "{turns}: ours {ours!r}, transformers' {theirs!r} at character {at}",
        turns=turns,
        ours=text[at : at + 24],
        theirs=wanted[at : at + 24],
        at=at,
    )


def _end_of_turn(tokenizer: Tokenizer, template: ChatTemplate) -> int | None:
    """The first special token behind a reply's content."""
    text = template.render([_USER, _ANSWER], add_generation_prompt=False)
    content = str(_ANSWER["content"])
    tail = text[text.rfind(content) + len(content) :]
    ids = tokenizer.encode(tail, add_special_tokens=False)
    return next((token_id for token_id in ids if tokenizer.is_special(token_id)), None)


def _token(tokenizer: Tokenizer, token_id: int) -> str:
    return tokenizer.token_bytes(token_id).decode("utf-8", errors="replace")
