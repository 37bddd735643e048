"""What is undone where a beginning fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def undone_on_failure(undo: Callable[[], object]) -> Iterator[None]:
    """Calls `undo` where the block raises anything, an interrupt as well; that is raised on."""
    with ExitStack() as stack:
        stack.callback(undo)
        yield
        stack.pop_all()
