"""The tree of KV pages: whose they are, what they hold, and that none is ever lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.core.errors import EngineError
from app.engine.page_tree import BlockTable, PageNode, PageTree, common_prefix_len

PAGE = 4
TOKENS = st.lists(st.integers(0, 1), min_size=1, max_size=14)


def all_but_the_last(token_ids: Sequence[int]) -> object:
    """What a prompt of these tokens may use."""
    return lambda node, num_shared: min(num_shared, len(token_ids) - 1)


class Pool:
    """Pages whose cells hold what a key depends on: all tokens up to it."""

    def __init__(self, num_pages: int) -> None:
        self.cells: list[list[tuple[int, ...]]] = [[()] * PAGE for _ in range(num_pages)]
        self.num_copies = 0
        self.tree = PageTree(num_pages, self.copy, page_tokens=PAGE)

    def copy(self, source: int, target: int) -> None:
        assert source != target
        self.cells[target] = list(self.cells[source])
        self.num_copies += 1

    def begin(self, token_ids: list[int]) -> BlockTable:
        return self.tree.begin(self.tree.find(token_ids, all_but_the_last(token_ids)))

    def compute(self, table: BlockTable, token_ids: list[int], end: int) -> bool:
        """As an executor: writes the cells of the positions up to `end`."""
        if not self.tree.reserve(table, end):
            return False
        pages, start = table.pages, table.num_tokens
        for position in range(start, end):
            cell = tuple(token_ids[: position + 1])
            self.cells[pages[position // PAGE]][position % PAGE] = cell
        self.tree.extend(table, token_ids[start:end])
        return True

    def run(self, token_ids: list[int]) -> int:
        """A whole sequence; returns how many tokens it had from others."""
        table = self.begin(token_ids)
        num_cached = table.num_tokens
        assert self.compute(table, token_ids, len(token_ids))
        self.tree.release(table)
        return num_cached


class PoolMachine(RuleBasedStateMachine):
    """Sequences that begin, grow and end in any order, on a pool that is too small for them."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = Pool(7)
        self.running: list[tuple[BlockTable, list[int]]] = []

    @rule(token_ids=TOKENS)
    def begin(self, token_ids: list[int]) -> None:
        held = [chain_of(node) for node in self.pool.tree.iter_nodes()]
        best = max((common_prefix_len(chain, token_ids) for chain in held), default=0)
        best = min(best, len(token_ids) - 1)
        found = self.pool.tree.find(token_ids, all_but_the_last(token_ids))
        assert found.num_tokens == best
        could_copy = self.pool.tree.num_available > len(found.nodes)
        table = self.pool.tree.begin(found)
        assert table.num_tokens <= best
        assert table.num_tokens == best or not could_copy
        self.running.append((table, token_ids))

    @precondition(lambda self: self.running)
    @rule(index=st.integers(0, 99), more=TOKENS)
    def grow(self, index: int, more: list[int]) -> None:
        table, token_ids = self.running[index % len(self.running)]
        if table.num_tokens == len(token_ids):
            token_ids.extend(more)
        end = min(len(token_ids), table.num_tokens + len(more))
        if not self.pool.compute(table, token_ids, end):
            assert self.pool.tree.num_available == 0

    @precondition(lambda self: self.running)
    @rule(index=st.integers(0, 99))
    def end(self, index: int) -> None:
        table, _ = self.running.pop(index % len(self.running))
        self.pool.tree.release(table)

    @invariant()
    def pages_hold_what_the_tree_says(self) -> None:
        for node in self.pool.tree.iter_nodes():
            chain = chain_of(node)
            for offset in range(len(node.token_ids)):
                wanted = tuple(chain[: node.start + offset + 1])
                assert self.pool.cells[node.page][offset] == wanted

    @invariant()
    def tables_hold_their_tokens(self) -> None:
        for table, token_ids in self.running:
            for position in range(table.num_tokens):
                cell = self.pool.cells[table.pages[position // PAGE]][position % PAGE]
                assert cell == tuple(token_ids[: position + 1])

    @invariant()
    def what_can_be_written_is_in_one_place(self) -> None:
        holders = Counter(page for table, _ in self.running for page in table.pages)
        for table, _ in self.running:
            writable = [n.page for n in table.nodes if len(n.token_ids) < PAGE] + table.spares
            assert all(holders[page] == 1 for page in writable)
            assert all(len(node.token_ids) == PAGE for node in table.nodes[:-1])

    @invariant()
    def counts_are_right_and_nothing_is_lost(self) -> None:
        tree, nodes = self.pool.tree, list(self.pool.tree.iter_nodes())
        holders = Counter(node for table, _ in self.running for node in table.nodes)
        assert all(node.num_refs == holders[node] for node in nodes)
        spares = [page for table, _ in self.running for page in table.spares]
        pages = [node.page for node in nodes] + spares
        assert len(set(pages)) == len(pages)
        unused = sum(1 for node in nodes if not node.num_refs)
        assert tree.num_cached == unused
        assert tree.num_available == tree.num_pages - len(pages) + unused

    def teardown(self) -> None:
        while self.running:
            self.end(0)
        tree = self.pool.tree
        assert tree.num_available == tree.num_pages
        table = BlockTable()
        assert tree.reserve(table, tree.num_pages * PAGE)
        assert sorted(table.pages) == list(range(tree.num_pages))
        assert list(tree.iter_nodes()) == []


TestPool = PoolMachine.TestCase
TestPool.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def chain_of(node: PageNode) -> list[int]:
    """Its tokens behind those of its parents."""
    parents = chain_of(node.parent) if node.parent else []
    return [*parents, *node.token_ids]


def test_the_next_turn_takes_the_pages_over() -> None:
    pool = Pool(4)
    first = [1, 2, 3, 4, 5, 6]
    assert pool.run(first) == 0
    assert pool.run([*first, 7, 8, 9]) == 6
    assert pool.num_copies == 0


def test_a_fork_copies_the_page_that_is_equal_in_part_and_spares_the_other() -> None:
    pool = Pool(6)
    pool.run([1, 2, 3, 4, 5, 6, 7])
    assert pool.run([1, 2, 3, 4, 5, 6, 9, 9]) == 6
    assert pool.num_copies == 1
    assert pool.run([1, 2, 3, 4, 5, 6, 7, 8]) == 7
    assert pool.num_copies == 1


def test_without_a_page_for_the_copy_the_old_one_is_taken() -> None:
    pool = Pool(2)
    pool.run([1, 2, 3, 4, 5, 6, 7])
    assert pool.run([1, 2, 3, 4, 5, 9, 9]) == 5
    assert pool.num_copies == 0
    assert pool.run([1, 2, 3, 4, 5, 6, 7]) == 5


def test_a_running_sequence_lends_what_it_has_computed() -> None:
    pool = Pool(6)
    first, second = [1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 8, 8]
    table = pool.begin(first)
    pool.compute(table, first, 6)
    other = pool.begin(second)
    assert other.num_tokens == 6
    assert other.pages[0] == table.pages[0]
    assert other.pages[1] != table.pages[1]


def test_the_longest_unused_goes_first_and_a_conversation_as_a_whole() -> None:
    pool = Pool(6)
    old, new = [1] * 8, [2] * 8
    pool.run(old)
    pool.run(new)
    pool.run([*old, 1])  # used again: now the newer one
    pool.run([3] * 9)
    assert pool.run([*old, 1, 5]) == 9
    assert not any(2 in node.token_ids for node in pool.tree.iter_nodes())


def test_more_tokens_than_pages_were_reserved_for_are_refused() -> None:
    pool = Pool(2)
    table = BlockTable()
    with pytest.raises(EngineError, match="more tokens"):
        pool.tree.extend(table, [1])


@pytest.mark.parametrize("shared", [0, 1, 3, 4])
def test_common_prefix(shared: int) -> None:
    assert common_prefix_len([1] * shared + [2] * (4 - shared), [1] * 9) == shared
