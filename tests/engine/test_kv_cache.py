"""Which tokens a KV slot is known to hold."""

from __future__ import annotations

import pytest

from app.core.errors import EngineError
from app.engine.kv_cache import KVCache


def fill(cache: KVCache, token_ids: list[int]) -> int:
    """A finished sequence of these tokens; returns its slot."""
    slot, num_cached = cache.acquire(token_ids)
    cache.append(slot, token_ids[num_cached:])
    cache.release(slot)
    return slot


def test_an_empty_cache_shares_nothing() -> None:
    assert KVCache(1).acquire([1, 2, 3]) == (0, 0)


def test_the_common_prefix_is_kept_and_the_rest_forgotten() -> None:
    cache = KVCache(1)
    fill(cache, [1, 2, 3, 4, 5])
    assert cache.acquire([1, 2, 3, 9]) == (0, 3)
    assert cache.length(0) == 3


def test_the_last_prompt_token_always_runs() -> None:
    cache = KVCache(1)
    fill(cache, [1, 2, 3, 4])
    assert cache.acquire([1, 2, 3]) == (0, 2)


def test_the_slot_with_the_longest_prefix_is_taken() -> None:
    cache = KVCache(3)
    first, second = cache.acquire([1, 2, 3])[0], cache.acquire([1, 2, 9, 9])[0]
    cache.append(first, [1, 2, 3])
    cache.append(second, [1, 2, 9, 9])
    cache.release(first)
    cache.release(second)
    assert cache.acquire([1, 2, 9, 4]) == (second, 3)


def test_a_new_conversation_takes_the_slot_with_least_to_lose() -> None:
    cache = KVCache(2)
    first = fill(cache, [1, 2, 3])
    assert cache.acquire([7, 8])[0] != first


def test_a_slot_in_use_is_not_given_again() -> None:
    cache = KVCache(1)
    slot, _ = cache.acquire([1])
    assert not cache.has_free_slot
    with pytest.raises(EngineError):
        cache.acquire([1])
    cache.release(slot)
    assert cache.has_free_slot
