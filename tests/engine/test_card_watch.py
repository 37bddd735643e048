"""What the live plots are told of a card."""

from __future__ import annotations

import pytest

from app.core.cards import Card, CardMemory
from app.engine.card_watch import CardWatch
from app.engine.vram_plan import VramState
from tests.kernels.host_launcher import HostLauncher

MIB = 1 << 20
CARD = Card("RTX 3050", (8, 6), 16, 4096 * MIB, (12, 4), "0000:01:00.0")
STATE = VramState("RTX 3050", 4096 * MIB, 300 * MIB, 200 * MIB, 64 * MIB)


def watch(
    monkeypatch: pytest.MonkeyPatch,
    memory: CardMemory | None,
    shared: list[int | None],
    shared_before: int | None = None,
) -> tuple[CardWatch, HostLauncher]:
    launcher = HostLauncher(4096 * MIB)
    launcher.allocated_bytes = 1000 * MIB
    monkeypatch.setattr("app.engine.card_watch.read_memory", lambda card: memory)
    monkeypatch.setattr("app.engine.card_watch.shared_bytes", lambda luid: shared.pop(0))
    launcher.host_bytes = 100 * MIB
    return CardWatch(CARD, launcher, STATE, shared_before), launcher


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


@pytest.mark.parametrize(
    ("before", "after", "spilled_at_start"),
    [
        (500, 600, 0),  # page-locked memory
        (500, 500, 0),  # a driver that does not count that
        (10, 600, 490),  # the card was too full for the model already
        (None, 90, 0),
    ],
)
def test_only_what_came_with_the_model_is_spilled(
    before: int | None, after: int, spilled_at_start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = [size * MIB for size in (after, after, after + 10, after + 300)]
    shared_before = None if before is None else before * MIB
    watched, _ = watch(monkeypatch, None, [*shared], shared_before)
    found = [watched.sample(0).spilled_bytes // MIB for _ in range(3)]
    small = spilled_at_start + 10 if spilled_at_start else 0
    assert found == [spilled_at_start, small, spilled_at_start + 300]


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
