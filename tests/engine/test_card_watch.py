"""What the live plots are told of a card."""

from __future__ import annotations

import ctypes

import pytest

from app.core import wddm
from app.core.cards import Card, CardMemory
from app.engine.card_watch import CardWatch
from app.engine.vram_plan import VramState
from tests.kernels.host_launcher import HostLauncher

MIB = 1 << 20
CARD = Card("RTX 3050", (8, 6), 16, 4096 * MIB, (12, 4), "0000:01:00.0")
STATE = VramState("RTX 3050", 4096 * MIB, 300 * MIB, 200 * MIB, 64 * MIB)


def watch(
    monkeypatch: pytest.MonkeyPatch, memory: CardMemory | None, shared: list[int | None]
) -> tuple[CardWatch, HostLauncher]:
    launcher = HostLauncher(4096 * MIB)
    launcher.allocated_bytes = 1000 * MIB
    monkeypatch.setattr("app.engine.card_watch.read_memory", lambda card: memory)
    monkeypatch.setattr("app.engine.card_watch.shared_bytes", lambda luid: shared.pop(0))
    return CardWatch(CARD, launcher, STATE), launcher


def test_the_card_is_told_by_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = CardMemory(4096 * MIB, 1096 * MIB, 3000 * MIB)
    watched, launcher = watch(monkeypatch, memory, [None, None])
    launcher.num_replays, launcher.busy_s = 7, 1e9
    sample = watched.sample(0)
    assert (sample.name, sample.num_replays, sample.busy_share) == ("RTX 3050", 7, 1.0)
    assert (sample.replays_per_token, sample.launches_per_token) == (0.0, 0.0)
    assert (sample.used_bytes, sample.total_bytes) == (3000 * MIB, 4096 * MIB)
    assert (sample.context_bytes, sample.spilled_bytes) == (200 * MIB, 0)


def test_without_nvml_the_launcher_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, _ = watch(monkeypatch, None, [None, None])
    assert watched.sample(0).used_bytes == 1000 * MIB


def test_only_what_came_after_loading_is_spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, _ = watch(monkeypatch, None, [600 * MIB, 610 * MIB, 900 * MIB])
    assert [watched.sample(0).spilled_bytes for _ in range(2)] == [0, 300 * MIB]


def test_a_card_that_idles_is_not_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, _ = watch(monkeypatch, None, [None, None])
    assert watched.sample(0).busy_share == 0.0


def test_replays_are_counted_for_each_token_since_the_last_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched, launcher = watch(monkeypatch, None, [None, None, None, None])
    launcher.num_replays, launcher.num_launches = 7, 900
    watched.sample(3)
    launcher.num_replays, launcher.num_launches = 17, 900 + 10 * 183
    sample = watched.sample(13)
    assert (sample.num_replays, sample.replays_per_token, sample.launches_per_token) == (17, 1, 183)
    assert watched.sample(13).replays_per_token == 0.0


def test_structures_have_the_size_that_windows_headers_give_them() -> None:
    """d3dkmthk.h on 64 bits: LUID and handle; handle, three words, four counters and an index."""
    assert ctypes.sizeof(wddm._OpenAdapter) == 12
    assert ctypes.sizeof(wddm._QueryMemory) == 56
    assert wddm._QueryMemory.budget.offset == 16
    assert wddm._QueryMemory.current_usage.offset == 24
