"""How many sequences run at once, and how large the pool is whose pages they share.

A context is chosen as for one sequence. Buffers and states of further ones may cost it a twentieth
at most: beyond that there are fewer of them. The pool holds at least one whole context; of the
memory that is left then, it takes half, and never more than all sequences can use.
"""

from __future__ import annotations

from collections.abc import Callable

from app.engine.executors.block_tables import KV_PAGE_TOKENS, pages_for

_CONTEXT_SHARE = 20


def choose_slots(num_slots: int, longest: Callable[[int], int], needed_len: int) -> tuple[int, int]:
    """How many of `num_slots` sequences run at once, and the context of each.

    `longest` is the context that fits beside so many slots; one slot is the least, fit or not.
    """
    alone = longest(1)
    least = max(needed_len, alone - alone // _CONTEXT_SHARE)
    for count in range(num_slots, 1, -1):
        if (length := longest(count)) >= least:
            return count, length
    return 1, alone


def choose_pages(num_slots: int, max_model_len: int, left_bytes: int, token_bytes: int) -> int:
    """Pages of the pool; `left_bytes` are free beside a pool of one context."""
    one, most = pages_for(max_model_len), num_slots * pages_for(max_model_len)
    if token_bytes == 0:
        return most
    return min(most, one + max(0, left_bytes) // 2 // (token_bytes * KV_PAGE_TOKENS))
