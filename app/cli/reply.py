"""A reply in the terminal, printed as it comes."""

from __future__ import annotations

import sys

from app.cli.output import print_note
from app.core.errors import JobCancelledError
from app.core.events import (
    FinishReason,
    PromptTruncated,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    Usage,
)
from app.engine.request_handle import Completion, RequestHandle


class Reply:
    """Prints a reply as it comes, and keeps it."""

    def __init__(self, handle: RequestHandle) -> None:
        self._handle = handle
        self._text: list[str] = []
        self._token_ids: list[int] = []

    def play(self) -> Completion:
        """Prints to the end; raises the AppError of a request that failed. May be called again
        after Ctrl+C: it goes on where it was."""
        for event in self._handle:
            if isinstance(event, TokensGenerated):
                self._add(event)
            elif isinstance(event, PromptTruncated):
                print_note(f"[the oldest {event.num_dropped_messages} messages are left out]")
            elif isinstance(event, RequestFailed):
                raise event.error.to_exception()
            elif isinstance(event, RequestFinished):
                return self._finish(event)
        raise JobCancelledError

    def play_until_stopped(self) -> Completion:
        """Like `play`, but Ctrl+C ends the reply and not the program."""
        try:
            return self.play()
        except KeyboardInterrupt:
            self._handle.cancel()
            return self.play()

    def _add(self, event: TokensGenerated) -> None:
        self._text.append(event.text)
        self._token_ids.extend(event.token_ids)
        sys.stdout.write(event.text)
        sys.stdout.flush()

    def _finish(self, event: RequestFinished) -> Completion:
        print(flush=True)
        print_note(_describe(event.usage, event.finish_reason))
        text, token_ids = "".join(self._text), tuple(self._token_ids)
        return Completion(text, token_ids, event.finish_reason, event.usage)


def _describe(usage: Usage, reason: FinishReason) -> str:
    return (
        f"[{usage.completion_tokens} tokens, {usage.decode_tok_s:.1f} tokens/s, "
        f"first after {usage.ttft_s:.2f} s, {usage.prompt_tokens} in the prompt, ended by {reason}]"
    )
