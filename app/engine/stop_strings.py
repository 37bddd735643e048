"""Ends a reply at a stop string, without showing the string or a part of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable


class StopStringMatcher:
    """Watches the text of one reply while it is streamed.

    The reply ends where a stop string is first complete; of several complete there, the longest is
    cut off. So the result does not depend on how the text was cut into pieces.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        """`stops` are texts as users write them; empty ones are ignored."""
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.matched: str | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether the reply has ended at a stop string, which then is `matched`."""
        return self.matched is not None

    def add(self, text: str) -> str:
        """The text that may be shown now; what could begin a stop string is held back."""
        if self.is_stopped:
            return ""
        text = self._held + text
        found = [
            (text.find(stop) + len(stop), -len(stop), stop) for stop in self._stops if stop in text
        ]
        if found:
            end, _, self.matched = min(found)
            self._held = ""
            return text[: end - len(self.matched)]
        safe = len(text) - count_held(text, self._stops)
        self._held = text[safe:]
        return text[:safe]

    def flush(self) -> str:
        """The reply is over: what was held back and turned out to be no stop string."""
        held, self._held = self._held, ""
        return held


def count_held(text: str, strings: Collection[str]) -> int:
    """Length of the longest end of `text` that one of `strings` begins with and is longer than."""
    longest = max(map(len, strings), default=0)
    for length in range(min(longest - 1, len(text)), 0, -1):
        tail = text[-length:]
        if any(string.startswith(tail) and len(string) > length for string in strings):
            return length
    return 0
