"""Which pages of the KV pool hold which tokens: a tree that sequences share their beginnings in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from app.core.errors import EngineError, OutOfMemoryError
from app.engine.executors.block_tables import KV_PAGE_TOKENS

CopyPage = Callable[[int, int], None]


class PageNode:
    """A page of computed tokens, behind the whole pages of its parents.

    `num_refs` running sequences have it in their tables. Only a full page has children and may be
    in several tables; a page with room is written by the one sequence that has it, if any.
    """

    __slots__ = ("children", "num_refs", "page", "parent", "start", "token_ids")

    def __init__(self, page: int, parent: PageNode | None) -> None:
        self.page = page
        self.parent = parent
        self.start = parent.end if parent else 0
        self.token_ids: list[int] = []
        self.children: list[PageNode] = []
        self.num_refs = 0

    @property
    def end(self) -> int:
        """The position behind its last token."""
        return self.start + len(self.token_ids)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first `num_tokens` tokens of a prompt; of the last of `nodes` maybe a part is used."""

    nodes: tuple[PageNode, ...] = ()
    num_tokens: int = 0


@dataclass(slots=True)
class BlockTable:
    """The pages of one sequence: those that hold tokens, and those that are reserved for more."""

    nodes: list[PageNode] = field(default_factory=list)
    spares: list[int] = field(default_factory=list)

    @property
    def pages(self) -> list[int]:
        """Position p lies, or will lie, in page `pages[p // KV_PAGE_TOKENS]`."""
        return [*(node.page for node in self.nodes), *self.spares]

    @property
    def num_pages(self) -> int:
        """How many those are."""
        return len(self.nodes) + len(self.spares)

    @property
    def num_tokens(self) -> int:
        """Computed tokens."""
        return self.nodes[-1].end if self.nodes else 0


# How many of the first n positions that a node and its parents share can be used.
Usable = Callable[[PageNode, int], int]


class PageTree:
    """A pool of pages; each is free, reserved by one table, or holds tokens and stands in the tree.

    Pages that no table holds stay until their room is needed, the longest unused first. `copy_page`
    copies a page's content to another; `on_cut` hears of a node that has lost tokens, maybe all.
    """

    def __init__(
        self,
        num_pages: int,
        copy_page: CopyPage,
        on_cut: Callable[[PageNode], None] = lambda node: None,
        page_tokens: int = KV_PAGE_TOKENS,
    ) -> None:
        self.num_pages = num_pages
        self._page_tokens = page_tokens
        self._copy_page, self._on_cut = copy_page, on_cut
        self._root = PageNode(-1, None)
        self._free = list(reversed(range(num_pages)))
        self._num_unused = 0  # nodes that no table holds
        # Of those the leaves, the longest unused first. A parent is used whenever a child is, so it
        # becomes a leaf as the oldest: it goes to the front.
        self._unused_leaves: OrderedDict[PageNode, None] = OrderedDict()

    @property
    def num_cached(self) -> int:
        """Pages that hold tokens of no running sequence."""
        return self._num_unused

    @property
    def num_available(self) -> int:
        """Pages that can be had: the free ones and the cached ones."""
        return len(self._free) + self._num_unused

    def find(self, token_ids: Sequence[int], usable: Usable) -> Prefix:
        """The longest usable beginning of these tokens that the tree holds; nothing changes."""
        best: PageNode | None = None
        best_key = (0, False)
        for node, num_shared in self._matches(token_ids):
            num_usable = usable(node, node.start + num_shared)
            # Of equals the one that need not be copied.
            key = (num_usable, not node.num_refs and num_usable == node.end)
            if key > best_key:
                best, best_key = node, key
        if best is None or not best_key[0]:
            return Prefix()
        nodes = [node for node in _path_to(best) if node.start < best_key[0]]
        return Prefix(tuple(nodes), best_key[0])

    def begin(self, prefix: Prefix) -> BlockTable:
        """A table that holds a prefix that was just found.

        A page that is shared in part is copied, or taken over where nobody else needs it; where
        there is no page or no memory for the copy, the table ends before it.
        """
        table = BlockTable()
        for node in prefix.nodes:
            if prefix.num_tokens - node.start >= self._page_tokens:
                self._hold(table, node)
        if prefix.nodes and table.num_tokens < prefix.num_tokens:
            self._share_part(table, prefix.nodes[-1], prefix.num_tokens - table.num_tokens)
        return table

    def reserve(self, table: BlockTable, num_tokens: int) -> bool:
        """Gives the table pages for so many tokens in all; False when none are left.

        Pages that it could get before remain the table's.
        """
        while table.num_pages * self._page_tokens < num_tokens:
            page = self._take_page()
            if page is None:
                return False
            table.spares.append(page)
        return True

    def extend(self, table: BlockTable, token_ids: Sequence[int]) -> None:
        """These tokens have been computed behind the table's; their pages were reserved."""
        done = 0
        while done < len(token_ids):
            node = self._writable(table)
            piece = token_ids[done : done + self._page_tokens - len(node.token_ids)]
            node.token_ids.extend(piece)
            done += len(piece)

    def release(self, table: BlockTable) -> None:
        """The sequence has ended: its pages stay, as long as nobody needs the room."""
        self._free.extend(reversed(table.spares))
        for node in table.nodes:
            node.num_refs -= 1
            if not node.num_refs:
                self._num_unused += 1
        if table.nodes:
            self._note_leaf(table.nodes[-1], is_oldest=False)
        table.nodes, table.spares = [], []

    def discard(self, table: BlockTable) -> None:
        """`release`; the pages that nothing else needs are forgotten."""
        nodes = list(table.nodes)
        self.release(table)
        for node in reversed(nodes):
            if node in self._unused_leaves:
                self._drop(node)

    def iter_nodes(self) -> Iterator[PageNode]:
        """All nodes, parents first."""
        stack = [self._root]
        while stack:
            node = stack.pop()
            stack.extend(node.children)
            if node is not self._root:
                yield node

    def _matches(self, token_ids: Sequence[int]) -> Iterator[tuple[PageNode, int]]:
        """Nodes whose parents are shared whole, and how many of their own tokens are."""
        stack = [self._root]
        while stack:
            parent = stack.pop()
            wanted = list(token_ids[parent.end : parent.end + self._page_tokens])
            for child in parent.children:
                num_shared = common_prefix_len(child.token_ids, wanted)
                if num_shared == self._page_tokens:
                    stack.append(child)
                if num_shared:
                    yield child, num_shared

    def drop_unused(self) -> None:
        """Forgets what no table holds; its pages are the next that are taken."""
        while self._unused_leaves:
            self._drop_oldest()

    def _hold(self, table: BlockTable, node: PageNode) -> None:
        if not node.num_refs:
            self._num_unused -= 1
            self._unused_leaves.pop(node, None)
        node.num_refs += 1
        table.nodes.append(node)

    def _share_part(self, table: BlockTable, node: PageNode, num_shared: int) -> None:
        if not node.num_refs and num_shared == len(node.token_ids):
            self._hold(table, node)
            return
        self._unused_leaves.pop(node, None)  # the copy's source must not be its room
        page = self._take_page()
        self._note_leaf(node, is_oldest=False)
        if page is not None:
            self._copy_part(table, node, page, num_shared)
        elif not node.num_refs and not node.children:
            del node.token_ids[num_shared:]
            self._on_cut(node)
            self._hold(table, node)

    def _copy_part(self, table: BlockTable, node: PageNode, page: int, num_shared: int) -> None:
        try:
            self._copy_page(node.page, page)
        except OutOfMemoryError:  # then the part is computed anew
            self._free.append(page)
        else:
            self._insert(table, page, node.token_ids[:num_shared])

    def _writable(self, table: BlockTable) -> PageNode:
        if not table.nodes or len(table.nodes[-1].token_ids) == self._page_tokens:
            if not table.spares:
                raise EngineError("A sequence has written more tokens than it has pages for.")
            self._insert(table, table.spares.pop(0), [])
        return table.nodes[-1]

    def _insert(self, table: BlockTable, page: int, token_ids: list[int]) -> None:
        node = PageNode(page, table.nodes[-1] if table.nodes else self._root)
        node.token_ids = token_ids
        node.num_refs = 1
        assert node.parent is not None
        node.parent.children.append(node)
        table.nodes.append(node)

    def _take_page(self) -> int | None:
        if not self._free:
            self._drop_oldest()
        return self._free.pop() if self._free else None

    def _drop_oldest(self) -> None:
        if self._unused_leaves:
            self._drop(next(iter(self._unused_leaves)))

    def _drop(self, node: PageNode) -> None:
        """Of an unused leaf."""
        assert node.parent is not None
        del self._unused_leaves[node]
        node.parent.children.remove(node)
        self._num_unused -= 1
        self._free.append(node.page)
        node.token_ids = []
        self._on_cut(node)
        self._note_leaf(node.parent, is_oldest=True)

    def _note_leaf(self, node: PageNode, *, is_oldest: bool) -> None:
        if node is not self._root and not node.num_refs and not node.children:
            self._unused_leaves[node] = None
            self._unused_leaves.move_to_end(node, last=not is_oldest)


def common_prefix_len(first: list[int], second: list[int]) -> int:
    """How many tokens both begin with."""
    low, high = 0, min(len(first), len(second))
    if first[:high] == second[:high]:
        return high
    while low < high - 1:  # the first `low` are equal, the first `high` are not
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _path_to(node: PageNode) -> list[PageNode]:
    """From below the root to the node."""
    path: list[PageNode] = []
    parent: PageNode | None = node
    while parent is not None and parent.parent is not None:
        path.append(parent)
        parent = parent.parent
    return path[::-1]
