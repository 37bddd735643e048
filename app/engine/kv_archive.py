"""Between the KV cache and its store on disk: conversations are saved when the engine is idle, and
fetched, page by page, when one goes on whose pages are gone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from app import __version__
from app.checkpoint.manifest import MANIFEST_NAME
from app.core.errors import OutOfMemoryError
from app.engine.executors.base import Executor
from app.engine.executors.block_tables import KV_PAGE_TOKENS
from app.engine.kv_cache import KVCache, KVLease
from app.engine.kv_store import Data, KVStore, StoredBlob, StoredConversation
from app.engine.page_tree import Prefix, common_prefix_len
from app.spec.rope import RopeType

_logger = logging.getLogger(__name__)

# Below that it is as fast to compute them.
_WORTH_KEEPING_TOKENS = 64
_DEPENDENT_ROPES = (RopeType.DYNAMIC, RopeType.LONGROPE)


class KVArchive:
    """What of one executor's cache is saved under which key.

    `step` does a page's worth of saving; `pause` lets go of it before the cache changes.
    """

    def __init__(self, executor: Executor, kv_cache: KVCache, store: KVStore) -> None:
        self._executor, self._kv_cache, self._store = executor, kv_cache, store
        self._pending: dict[str, list[int]] = {}
        self._saving: Iterator[None] | None = None

    @property
    def has_work(self) -> bool:
        """Whether something waits to be saved."""
        return bool(self._pending)

    def remember(self, key: str, token_ids: list[int]) -> None:
        """A turn of this conversation has ended; its computed tokens are to be saved."""
        self.pause()
        self._pending.pop(key, None)
        if len(token_ids) >= _WORTH_KEEPING_TOKENS:
            self._pending[key] = token_ids

    def forget(self, key: str) -> None:
        """The conversation is no more: neither is what was kept of it."""
        self.pause()
        self._pending.pop(key, None)
        self._store.forget(key)

    def pause(self) -> None:
        """The cache will change: saving begins anew later, with the pages that are on disk."""
        self._saving = None

    def step(self) -> None:
        """Saves a page. What cannot be written is given up, with a line in the log."""
        key = next(iter(self._pending))
        try:
            if self._saving is None:
                self._saving = self._save(key, self._pending[key])
            next(self._saving)
        except StopIteration:
            self._end_saving(key)
        except (OSError, MemoryError, OutOfMemoryError) as error:
            _logger.warning("The KV cache of a conversation could not be saved: %s.", error)
            self._end_saving(key)

    def restoration(self, key: str, lease: KVLease, token_ids: list[int]) -> KVRestoration | None:
        """What will fetch the rest of the prompt's tokens behind those of the lease, if it pays."""
        if len(token_ids) - lease.table.num_tokens <= _WORTH_KEEPING_TOKENS:
            return None
        stored = self._store.find(key)
        if stored is None:
            return None
        shared = common_prefix_len(list(stored.token_ids), token_ids)
        num_tokens = min(shared, len(token_ids) - 1)
        if self._kv_cache.is_recurrent and num_tokens < len(stored.token_ids):
            return None  # its state is that behind all of them
        if num_tokens - lease.table.num_tokens < _WORTH_KEEPING_TOKENS:
            return None
        return KVRestoration(self._kv_cache, self._store, key, stored, lease, num_tokens)

    def _end_saving(self, key: str) -> None:
        self._saving = None
        del self._pending[key]

    def _save(self, key: str, token_ids: list[int]) -> Iterator[None]:
        prefix = self._kv_cache.find_held(token_ids)
        before = self._store.find(key) or StoredConversation((), ())
        num_kept = common_prefix_len(list(before.token_ids), token_ids)
        if not self._is_worth_saving(prefix, num_kept):
            return
        state = self._kv_cache.state_behind(prefix)
        kept_state = None if state is None else self._store.write(key, state)
        # Whole pages that are there already are not written again.
        pages = list(before.pages[: num_kept // KV_PAGE_TOKENS])
        for node in prefix.nodes[len(pages) :]:
            pages.append(self._store.write(key, self._executor.read_page(node.page)))
            yield
        computed = tuple(token_ids[: prefix.num_tokens])
        self._store.finish(key, StoredConversation(computed, tuple(pages), kept_state))

    def _is_worth_saving(self, prefix: Prefix, num_kept: int) -> bool:
        """More of the conversation than is kept, if the store can hold it."""
        num_bytes = len(prefix.nodes) * self._executor.page_bytes + self._executor.state_bytes
        is_more = prefix.num_tokens > max(num_kept, _WORTH_KEEPING_TOKENS)
        return is_more and self._store.can_hold(num_bytes)


class KVRestoration:
    """Fetches the pages of one sequence, one at a time, behind what its lease has."""

    def __init__(
        self,
        kv_cache: KVCache,
        store: KVStore,
        key: str,
        stored: StoredConversation,
        lease: KVLease,
        num_tokens: int,
    ) -> None:
        self._kv_cache, self._store, self._key = kv_cache, store, key
        self._stored, self._lease = stored, lease
        self._num_tokens = num_tokens

    @property
    def next_tokens(self) -> int:
        """How many tokens the sequence has after the next page: what must be reserved."""
        return min(self._num_tokens, (self._next_index + 1) * KV_PAGE_TOKENS)

    def advance(self) -> bool:
        """Fetches a page; False when it was the last, or damaged."""
        index, end = self._next_index, self.next_tokens
        page = self._read(self._stored.pages[index])
        if page is None:
            return self._give_up()
        self._kv_cache.write_page(self._lease, index, page)
        self._kv_cache.adopt(
            self._lease, self._stored.token_ids[self._lease.table.num_tokens : end]
        )
        if end < self._num_tokens:
            return True
        return self._restore_state()

    @property
    def _next_index(self) -> int:
        return self._lease.table.num_tokens // KV_PAGE_TOKENS

    def _read(self, blob: StoredBlob) -> Data | None:
        return self._store.read(self._key, blob)

    def _restore_state(self) -> bool:
        if self._stored.state is not None:
            state = self._read(self._stored.state)
            if state is None:
                return self._give_up()
            self._kv_cache.write_state(self._lease, state)
            self._kv_cache.keep_state(self._lease)
        return False

    def _give_up(self) -> bool:
        """What was fetched stays; a recurrent model cannot go on from it."""
        self._kv_cache.drop_without_state(self._lease)
        return False


def stored_format(model_dir: Path, executor: Executor) -> str:
    """What a kept page is tied to: the checkpoint's hashes, the executor, its cache, the program.

    Dynamic and longrope frequencies depend on the context that was planned.
    """
    manifest = sha256((model_dir / MANIFEST_NAME).read_bytes()).hexdigest()
    ropes = (executor.spec.rope, executor.spec.sliding_rope)
    depends = any(rope and rope.rope_type in _DEPENDENT_ROPES for rope in ropes)
    context = executor.max_model_len if depends else 0
    return f"{__version__} {manifest} {executor.cache_format} {KV_PAGE_TOKENS} {context}"
