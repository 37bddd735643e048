"""States of linear layers, kept by the number of tokens that they have seen."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from app.engine.page_tree import PageNode

State = npt.NDArray[np.uint8]

MAX_SNAPSHOTS = 32
_MAX_BYTES = 256 << 20
_MIN_SNAPSHOTS = 2  # however large: the end of a prompt, and of its reply


class StateSnapshots:
    """Copies of states in this process's memory; beyond a limit the longest unused goes.

    A snapshot belongs to the page that the last of its tokens lies in: when that loses tokens, it
    goes too, since its keys and values are needed beside it.
    """

    def __init__(self, state_bytes: int) -> None:
        fitting = _MAX_BYTES // max(1, state_bytes)
        self._limit = min(MAX_SNAPSHOTS, max(_MIN_SNAPSHOTS, fitting))
        self._states: OrderedDict[tuple[PageNode, int], State] = OrderedDict()
        self._lengths: dict[PageNode, set[int]] = {}

    @property
    def num_bytes(self) -> int:
        """Of all snapshots."""
        return sum(state.nbytes for state in self._states.values())

    def save(self, node: PageNode, num_tokens: int, state: State) -> None:
        """Keeps the state behind the first `num_tokens` tokens, which end in this node."""
        self._states[node, num_tokens] = state
        self._states.move_to_end((node, num_tokens))
        self._lengths.setdefault(node, set()).add(num_tokens)
        while len(self._states) > self._limit:
            self._drop(*next(iter(self._states)))

    def longest(self, node: PageNode, num_tokens: int) -> int:
        """The most tokens, at most so many, whose state is kept with this node; 0 for none."""
        return max((n for n in self._lengths.get(node, ()) if n <= num_tokens), default=0)

    def state(self, node: PageNode, num_tokens: int) -> State | None:
        """What `save` was given."""
        key = (node, num_tokens)
        if key in self._states:
            self._states.move_to_end(key)
        return self._states.get(key)

    def cut(self, node: PageNode) -> None:
        """The node has lost tokens: what has seen them goes."""
        for num_tokens in [n for n in self._lengths.get(node, ()) if n > node.end]:
            self._drop(node, num_tokens)

    def _drop(self, node: PageNode, num_tokens: int) -> None:
        del self._states[node, num_tokens]
        self._lengths[node].remove(num_tokens)
        if not self._lengths[node]:
            del self._lengths[node]
