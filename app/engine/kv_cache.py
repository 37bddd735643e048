"""The executor's slots and pages: who has which, and what of a prompt is in them already."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.core.errors import EngineError, OutOfMemoryError
from app.engine.executors.base import Executor
from app.engine.executors.block_tables import KV_PAGE_TOKENS, pages_for
from app.engine.page_tree import BlockTable, PageNode, PageTree, Prefix
from app.engine.state_snapshots import State, StateSnapshots

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class KVLease:
    """A slot, and from `KVCache.open` on the pages of a running sequence.

    `num_mapped` of them the executor knows; the slot's recurrent state has seen `state_tokens`.
    """

    slot: int
    table: BlockTable = field(default_factory=BlockTable)
    is_open: bool = False
    num_mapped: int = 0
    state_tokens: int = 0


class KVCache:
    """Leases slots, and shares pages between sequences that begin alike.

    Pages of ended sequences stay until their room is needed, so the next turn of a conversation, a
    reply made anew and an edited question prefill only what is new. A recurrent state has no
    positions to share: copies of it are kept where prompts and turns end, and a prefix is shared as
    far as one of those.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        is_recurrent = executor.spec.is_recurrent
        self._snapshots = StateSnapshots(executor.state_bytes) if is_recurrent else None
        self._tree = PageTree(executor.num_pages, executor.copy_page, self._forget_states)
        self._free_slots = list(reversed(range(executor.num_slots)))

    @property
    def is_recurrent(self) -> bool:
        """Whether the model has linear layers."""
        return self._snapshots is not None

    @property
    def max_tokens(self) -> int:
        """The longest sequence: of the context, and of a pool that one sequence has alone."""
        return min(self._executor.max_model_len, self.num_pages * KV_PAGE_TOKENS)

    @property
    def num_pages(self) -> int:
        """Of the pool."""
        return self._tree.num_pages

    @property
    def num_cached_pages(self) -> int:
        """That hold tokens of ended sequences."""
        return self._tree.num_cached

    @property
    def num_available_pages(self) -> int:
        """That running sequences do not hold."""
        return self._tree.num_available

    @property
    def snapshot_bytes(self) -> int:
        """Of copies of recurrent states, in this process's memory."""
        return self._snapshots.num_bytes if self._snapshots else 0

    @property
    def has_free_slot(self) -> bool:
        """Whether `lease` would succeed."""
        return bool(self._free_slots)

    def lease(self) -> KVLease:
        """Takes a slot. Raises EngineError when all are taken."""
        if not self._free_slots:
            raise EngineError("Every KV slot is in use.")
        return KVLease(self._free_slots.pop())

    def find(self, token_ids: Sequence[int]) -> Prefix:
        """What a sequence of these tokens need not compute: all but the last at most, which must
        run to give logits."""
        return self._tree.find(token_ids, lambda node, n: self._usable(node, n, len(token_ids) - 1))

    def find_held(self, token_ids: Sequence[int]) -> Prefix:
        """What could go on behind these tokens, all of them included."""
        return self._tree.find(token_ids, lambda node, n: self._usable(node, n, len(token_ids)))

    def num_pages_in_use(self, prefix: Prefix) -> int:
        """How many whole pages of a prefix running sequences hold: sharing them takes no room."""
        return sum(
            1
            for node in prefix.nodes
            if node.num_refs and prefix.num_tokens >= node.start + KV_PAGE_TOKENS
        )

    def open(self, lease: KVLease, prefix: Prefix) -> int:
        """Gives the sequence what was just found; returns how many tokens it has then."""
        lease.is_open = True
        state = self.state_behind(prefix)
        lease.table = self._tree.begin(prefix)
        if self.is_recurrent and lease.table.num_tokens < prefix.num_tokens:
            self._tree.release(lease.table)  # the state would be ahead of the pages
        elif state is not None:
            self.write_state(lease, state)
        return lease.table.num_tokens

    def reserve(self, lease: KVLease, num_tokens: int) -> bool:
        """Maps pages for so many tokens in all; False when no page is left."""
        is_reserved = self._tree.reserve(lease.table, num_tokens)
        if lease.num_mapped != lease.table.num_pages:
            lease.num_mapped = lease.table.num_pages
            self._executor.map_pages(lease.slot, lease.table.pages)
        return is_reserved

    def reserve_ahead(self, lease: KVLease, num_tokens: int) -> None:
        """As `reserve`, for positions that an executor may, but need not write early."""
        if pages_for(num_tokens) > lease.table.num_pages:
            self.reserve(lease, min(num_tokens, self.max_tokens))

    def commit(self, lease: KVLease, token_ids: Sequence[int]) -> None:
        """The executor has computed these tokens behind those of the lease."""
        self._tree.extend(lease.table, token_ids)
        lease.state_tokens += len(token_ids)

    def keep_state(self, lease: KVLease) -> None:
        """Copies the recurrent state as it is now, if there is one and it is not kept yet."""
        table, snapshots = lease.table, self._snapshots
        if snapshots is None or not table.nodes or lease.state_tokens != table.num_tokens:
            return
        node, num_tokens = table.nodes[-1], table.num_tokens
        if snapshots.longest(node, num_tokens) == num_tokens:
            return
        try:
            snapshots.save(node, num_tokens, self._executor.read_state(lease.slot))
        except (MemoryError, OutOfMemoryError):  # then it is computed anew where it is wanted
            _logger.warning("There is no memory for a copy of a recurrent state.")

    def lose_state(self, lease: KVLease) -> None:
        """The slot's recurrent state is not that behind the tokens of the lease any more."""
        lease.state_tokens = -1

    def drop_cached(self) -> None:
        """Forgets ended sequences: the next pages are some that an executor has memory for."""
        self._tree.drop_unused()

    def release(self, lease: KVLease) -> None:
        """Frees slot and pages; what they hold stays for the next prompt that begins alike."""
        self.keep_state(lease)
        self._tree.release(lease.table)
        self._free_slots.append(lease.slot)

    def discard(self, lease: KVLease) -> None:
        """As `release`, but nothing stays that no other sequence has: it may be wrong."""
        self._tree.discard(lease.table)
        self._free_slots.append(lease.slot)

    def state_behind(self, prefix: Prefix) -> State | None:
        """The recurrent state behind a prefix that was just found; None where there is none."""
        if self._snapshots is None or not prefix.nodes:
            return None
        return self._snapshots.state(prefix.nodes[-1], prefix.num_tokens)

    def write_state(self, lease: KVLease, state: State) -> None:
        """The slot's state is that behind all tokens of the lease."""
        lease.state_tokens = lease.table.num_tokens
        self._executor.write_state(lease.slot, state, lease.state_tokens)

    def adopt(self, lease: KVLease, token_ids: Sequence[int]) -> None:
        """These tokens lie behind those of the lease, in pages that were written."""
        self._tree.extend(lease.table, token_ids)

    def drop_without_state(self, lease: KVLease) -> None:
        """Nothing can go on from pages whose recurrent state is not there."""
        if self.is_recurrent and lease.state_tokens != lease.table.num_tokens:
            self._tree.release(lease.table)
            lease.state_tokens = lease.num_mapped = 0

    def write_page(self, lease: KVLease, index: int, data: State) -> None:
        """Replaces the content of one of the lease's own pages [page_bytes]."""
        self._executor.write_page(lease.table.pages[index], data)

    def _usable(self, node: PageNode, num_shared: int, limit: int) -> int:
        num_tokens = min(num_shared, limit)
        return self._snapshots.longest(node, num_tokens) if self._snapshots else num_tokens

    def _forget_states(self, node: PageNode) -> None:
        if self._snapshots is not None:
            self._snapshots.cut(node)
