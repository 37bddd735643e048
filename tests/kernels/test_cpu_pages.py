"""The cache's pages in the native library: shared, copied, read, written; and states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from kernels.cpu.loader import NativeError
from tests.kernels.cpu_decoders import FREE_PAGE, NUM_PAGES, Decoder, Native
from tests.kernels.test_cpu_model import KV_TYPES, TOKENS, VARIANTS


@pytest.fixture(params=KV_TYPES)
def native(request: pytest.FixtureRequest) -> Iterator[Native]:
    """A decoder whose first slot has run a page and a half."""
    native = Native(VARIANTS["groups_of_three"], "portable", KV_TYPES[request.param])
    native.run(TOKENS[:400])
    yield native
    native.close()


def test_slots_share_a_page(native: Native) -> None:
    native.model.map_pages(1, [5, 1])
    native.run(TOKENS[256:400], start=256, slot=1)
    alone = native.run(TOKENS[400:401], start=400)
    np.testing.assert_array_equal(native.run(TOKENS[400:401], start=400, slot=1), alone)


def test_a_copy_goes_its_own_way(native: Native) -> None:
    native.model.copy_page(0, FREE_PAGE)
    native.model.map_pages(1, [5, FREE_PAGE])
    native.run(TOKENS[100:150], start=400, slot=1)
    other = native.run(TOKENS[150:151], start=450, slot=1)
    alone = native.run(TOKENS[400:450], start=400)
    native.model.copy_page(0, FREE_PAGE)
    native.run(TOKENS[100:150], start=400, slot=1)
    np.testing.assert_array_equal(native.run(TOKENS[150:151], start=450, slot=1), other)
    np.testing.assert_array_equal(native.run(TOKENS[400:450], start=400), alone)


def test_pages_go_to_another_model(native: Native, request: pytest.FixtureRequest) -> None:
    kv_type = KV_TYPES[request.node.callspec.params["native"]]
    other = Native(VARIANTS["groups_of_three"], "portable", kv_type)
    for source, target in ((5, 6), (0, 2)):
        other.model.write_page(target, native.model.read_page(source))
    other.model.map_pages(0, [6, 2])
    want = native.run(TOKENS[400:410], start=400)
    np.testing.assert_array_equal(other.run(TOKENS[400:410], start=400), want)
    other.close()


def test_a_page_is_allocated_once_and_when_it_is_reached(native: Native) -> None:
    assert native.model.kv_bytes == 2 * native.model.page_bytes
    native.model.map_pages(1, [5, 0, FREE_PAGE])
    native.run(TOKENS[:3], start=511, slot=1)
    assert native.model.kv_bytes == 3 * native.model.page_bytes
    assert not native.model.read_page(1).any()
    assert native.model.kv_bytes == 3 * native.model.page_bytes


def test_what_does_not_exist_is_refused(native: Native) -> None:
    model = native.model
    for call in (
        lambda: model.map_pages(0, [0, NUM_PAGES]),
        lambda: model.copy_page(0, -1),
        lambda: model.copy_page(NUM_PAGES, 0),
        lambda: model.read_page(NUM_PAGES),
        lambda: model.write_page(-1, np.zeros(model.page_bytes, np.uint8)),
    ):
        with pytest.raises(NativeError, match="a page does not exist"):
            call()
    for call in (
        lambda: model.map_pages(2, [0]),
        lambda: model.read_state(2),
        lambda: model.write_state(-1, np.zeros(model.state_bytes, np.uint8)),
    ):
        with pytest.raises(NativeError, match="a slot does not exist"):
            call()


def test_a_position_without_a_page_is_refused(native: Native) -> None:
    native.model.map_pages(0, [5])
    native.run(TOKENS[:1], start=255)
    with pytest.raises(NativeError, match="a position has no page"):
        native.run(TOKENS[:1], start=256)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kv_dtype", KV_TYPES)
def test_what_is_not_finite_stays_so_in_the_cache(kv_dtype: str, value: float) -> None:
    """A position that went wrong is seen by those that attend to it: they are no plausible text."""
    broken = Decoder()
    broken.weights["embed"][1] = value
    native = Native(broken, "portable", KV_TYPES[kv_dtype])
    logits = native.run(np.array([2, 1, 3], np.int32))
    native.close()
    assert np.isfinite(logits[0]).all()
    assert not np.isfinite(logits[2]).any()


def test_states_go_to_another_slot() -> None:
    native = Native(VARIANTS["delta_net"], "portable")
    native.run(TOKENS[:40])
    state = native.model.read_state(0)
    want = native.run(TOKENS[40:45], start=40)
    native.run(TOKENS[100:150], slot=1)
    native.model.write_state(1, state)
    np.testing.assert_array_equal(native.run(TOKENS[40:45], start=40, slot=1), want)
    native.close()
