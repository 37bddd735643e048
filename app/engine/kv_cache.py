"""What the executor's KV slots hold: token ids only; the tensors stay in the executor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from app.core.errors import EngineError


class KVCache:
    """Hands out slots, and remembers the tokens of each after its sequence has ended.

    A finished conversation stays in its slot until another takes it, so its next turn prefills only
    what is new. `is_recurrent`: a slot's content can go on, but its end cannot be cut off, so that
    it is shared as a whole or not at all.
    """

    def __init__(self, num_slots: int, *, is_recurrent: bool = False) -> None:
        self._is_recurrent = is_recurrent
        self._token_ids: list[list[int]] = [[] for _ in range(num_slots)]
        self._free = set(range(num_slots))

    @property
    def has_free_slot(self) -> bool:
        """Whether `acquire` would succeed."""
        return bool(self._free)

    def acquire(self, prompt_ids: Sequence[int]) -> tuple[int, int]:
        """(slot, num_cached): the free slot that shares the longest prefix with the prompt.

        `num_cached` is less than the prompt's length: its last token must run to give logits.
        """
        if not self._free:
            raise EngineError("Every KV slot is in use.")
        shared = {slot: self._num_shared(slot, prompt_ids) for slot in sorted(self._free)}
        # Of equals the one with least to lose.
        slot = max(shared, key=lambda index: (shared[index], -len(self._token_ids[index])))
        self._free.remove(slot)
        num_cached = min(shared[slot], len(prompt_ids) - 1)
        del self._token_ids[slot][num_cached:]
        return slot, num_cached

    def append(self, slot: int, token_ids: Iterable[int]) -> None:
        """The executor has computed these tokens behind what the slot holds."""
        self._token_ids[slot].extend(token_ids)

    def length(self, slot: int) -> int:
        """Positions in use."""
        return len(self._token_ids[slot])

    def release(self, slot: int) -> None:
        """Makes the slot free; its content stays for the next prompt that shares a prefix."""
        self._free.add(slot)

    def _num_shared(self, slot: int, prompt_ids: Sequence[int]) -> int:
        held = self._token_ids[slot]
        pairs = zip(held, prompt_ids, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        is_whole = shared == len(held) < len(prompt_ids)
        return shared if is_whole or not self._is_recurrent else 0
