"""What a monitor is told of the card: nothing without one, else what its watch has counted."""

from __future__ import annotations

import re

import pytest

from app.core.cards import Card
from app.engine.card_watch import CardWatch
from app.engine.metrics import EngineMetrics
from app.engine.vram_plan import VramState
from app.server.metrics import render_metrics
from app.server.register import Register
from tests.kernels.host_launcher import HostLauncher

MIB = 1 << 20
CARD = Card("RTX 3050", (8, 6), 16, 4096 * MIB, (12, 4), "0000:01:00.0")
STATE = VramState("RTX 3050", 4096 * MIB, 300 * MIB, 200 * MIB, 64 * MIB)


@pytest.fixture
def on_card() -> EngineMetrics:
    """Of a model whose launcher has replayed 17 graphs."""
    launcher = HostLauncher(4096 * MIB)
    watch = CardWatch(CARD, launcher, STATE, None)
    launcher.num_replays, launcher.num_launches, launcher.busy_s = 17, 3111, 0.25
    return EngineMetrics(tokens_decoded=17, card=watch.counts())


def _values(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_the_card_s_work_is_counted(on_card: EngineMetrics) -> None:
    values = _values(render_metrics(Register(max_requests=8), on_card))
    assert values["deepinfer_card_graph_replays_total"] == 17
    assert values["deepinfer_card_kernels_total"] == 3111
    assert values["deepinfer_card_busy_seconds_total"] == 0.25
    assert values["deepinfer_generation_tokens_total"] == 17


def test_without_a_card_nothing_is_told_of_one() -> None:
    assert "deepinfer_card" not in render_metrics(Register(max_requests=8), EngineMetrics())


def test_names_are_prometheus_own_kind(on_card: EngineMetrics) -> None:
    """A counter ends in _total, nothing else does; each is declared once, before its value."""
    text = render_metrics(Register(max_requests=8), on_card)
    kinds = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    assert len(dict(kinds)) == len(kinds) > 10
    for name, kind in kinds:
        assert re.fullmatch(r"deepinfer_[a-z_]+[a-z]", name)
        assert name.endswith("_total") is (kind == "counter"), name
