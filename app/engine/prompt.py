"""From a request to the token ids that are computed before its reply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.errors import ContextLengthError, UsageError
from app.engine.request import Message, OverflowPolicy, Request
from app.engine.tokenizer import Tokenizer
from app.engine.tool_prompt import tell_tools

_SYSTEM_ROLES = ("system", "developer")
# Of the context, what stays free for a reply of unknown length when turns are left out.
_REPLY_SHARE = 4
_TURNS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Prompt:
    """`num_dropped_messages` were left out for it to fit."""

    token_ids: list[int]
    num_dropped_messages: int = 0


class PromptEncoder:
    """Renders, encodes and measures prompts for one loaded model."""

    def __init__(self, tokenizer: Tokenizer, max_model_len: int, vocab_size: int) -> None:
        self._tokenizer = tokenizer
        self._max_model_len = max_model_len
        self._vocab_size = vocab_size

    def encode(self, request: Request) -> Prompt:
        """Raises UsageError for a prompt that cannot be, ContextLengthError for one too long."""
        prompt = self.measure(request)
        self._check(prompt.token_ids)
        return prompt

    def measure(self, request: Request) -> Prompt:
        """As `encode`, but a prompt may be too long."""
        if (request.prompt is None) == (not request.messages):
            raise UsageError("A request needs either messages or a prompt.")
        if request.overflow is OverflowPolicy.DROP_OLDEST and request.prompt is None:
            return self._encode_what_fits(request)
        return Prompt(self._encode_all(request))

    def num_free_tokens(self, prompt: Prompt) -> int:
        """How many tokens the context has left for the reply."""
        return self._max_model_len - len(prompt.token_ids)

    def _encode_all(self, request: Request) -> list[int]:
        if isinstance(request.prompt, tuple):
            return list(request.prompt)
        if request.prompt is not None:
            return self._tokenizer.encode(request.prompt)
        return self._encode_chat(request, request.messages)

    def _encode_chat(self, request: Request, messages: Sequence[Message]) -> list[int]:
        template = self._tokenizer.chat_template
        if template is None:
            raise UsageError("The model has no chat template; give it a raw prompt instead.")
        if request.tools and not template.reads_tools(messages, request.tools):
            messages = tell_tools(messages, request.tools)
        render = template.render_open if request.continues_reply else template.render
        text = render(messages, tools=request.tools, **request.template_kwargs)
        return self._tokenizer.encode_chat(text)

    def _encode_what_fits(self, request: Request) -> Prompt:
        """The longest conversation that leaves room for the reply; at least its last turn.

        Turns leave by the four while as many stay: the next three turns then begin as this one
        does, so that their prompts are in the cache.
        """
        room = self._max_model_len - self._reply_room(request)
        shortened = list(_iter_shortened(request.messages))
        fewest, most = 0, len(shortened) - 1
        while fewest < most:
            middle = (fewest + most) // 2
            if len(self._encode_chat(request, shortened[middle])) <= room:
                most = middle
            else:
                fewest = middle + 1
        by_the_four = -(-most // _TURNS_AT_ONCE) * _TURNS_AT_ONCE
        if len(shortened) - by_the_four > _TURNS_AT_ONCE:
            most = by_the_four
        messages = shortened[most]
        return Prompt(self._encode_chat(request, messages), len(request.messages) - len(messages))

    def _reply_room(self, request: Request) -> int:
        wanted = request.sampling.max_tokens or self._max_model_len // _REPLY_SHARE
        return max(1, min(wanted, self._max_model_len // 2))

    def _check(self, token_ids: list[int]) -> None:
        if not token_ids:
            raise UsageError("The prompt is empty.")
        if min(token_ids) < 0 or max(token_ids) >= self._vocab_size:
            raise UsageError("The prompt holds a token that the model has no embedding for.")
        if len(token_ids) >= self._max_model_len:
            raise ContextLengthError(
                "The prompt has {num_tokens:,} tokens; the context is planned for "
                "{max_model_len:,}, at least one of them for the reply.",
                num_tokens=len(token_ids),
                max_model_len=self._max_model_len,
            )


def _iter_shortened(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """All messages, then without the oldest turn, the two oldest ones, and so on.

    A turn begins with a user's message and goes with its replies, calls and results; what stands
    before the first one stays when it is a system prompt.
    """
    num_system = next(
        (i for i, message in enumerate(messages) if message.role not in _SYSTEM_ROLES),
        len(messages),
    )
    yield messages
    for index in range(num_system + 1, len(messages)):
        if messages[index].role == "user":
            yield (*messages[:num_system], *messages[index:])
