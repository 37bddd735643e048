"""The live numbers and plots beside the transcript."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QToolTip,
)
from pytestqt.qtbot import QtBot

from app.core.cards import CardSample
from app.core.events import MemorySampled, PrefillProgressed
from app.ui.live_history import WINDOW_S, LiveHistory, RatePoint
from app.ui.theme import current_tokens
from app.ui.widgets.live_panel import LivePanel
from app.ui.widgets.plots import thinned, with_rests

MIB = 1024**2
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


@pytest.fixture
def live(qtbot: QtBot) -> LivePanel:
    panel = LivePanel()
    qtbot.addWidget(panel)
    panel.show()
    panel.start()
    qtbot.waitUntil(lambda: panel.memory_plot is not None, timeout=60_000)
    yield panel
    panel.shutdown()


def sample(rss_mib: int, total_mib: int) -> MemorySampled:
    return MemorySampled(
        rss_mib * MIB, 100 * MIB, 20 * MIB, 10 * MIB, (total_mib - rss_mib) * MIB, total_mib * MIB
    )


def test_memory_is_split_by_cause(live: LivePanel) -> None:
    live.add_memory(sample(300, 1000))
    texts = [label.text() for label in live.findChildren(QLabel)]
    for expected in ("100 MiB", "20.0 MiB", "10.0 MiB", "170 MiB", "300 MiB of 1.0 GiB"):
        assert expected in texts
    assert live.memory_plot.top_values == [0.0, 100.0, 120.0, 130.0, 300.0]


def on_card(spilled_mib: int, replays_per_token: float = 1.0) -> MemorySampled:
    card = CardSample(
        name="RTX 3050",
        used_bytes=3000 * MIB,
        total_bytes=4096 * MIB,
        context_bytes=200 * MIB,
        spilled_bytes=spilled_mib * MIB,
        num_replays=1234,
        replays_per_token=replays_per_token,
        launches_per_token=183.2 * replays_per_token,
        busy_share=0.97,
    )
    return replace(sample(300, 16_000), weights_bytes=1700 * MIB, card=card)


def test_of_a_card_its_memory_is_split_under_its_own_ceiling(live: LivePanel) -> None:
    live.add_memory(on_card(spilled_mib=0))
    texts = [label.text() for label in live.findChildren(QLabel)]
    for expected in ("1.7 GiB", "20.0 MiB", "10.0 MiB", "1.2 GiB", "2.9 GiB of 4.0 GiB"):
        assert expected in texts
    assert live.memory_plot.top_values == [0.0, 1700.0, 1720.0, 1730.0, 3000.0]
    assert 4096 <= live.memory_plot.viewRange()[1][1] < 5000
    total = next(label for label in live.findChildren(QLabel) if "of 4.0 GiB" in label.text())
    assert "RTX 3050: CUDA itself 200 MiB" in total.toolTip()


def test_what_a_card_does_for_a_token_is_shown(live: LivePanel) -> None:
    def shown() -> list[str]:
        labels = (label for label in live.findChildren(QLabel) if label.isVisible())
        return [label.text() for label in labels if "Kernels" in label.text()]

    live.add_memory(sample(300, 1000))
    assert not shown()
    live.add_memory(on_card(spilled_mib=0))
    told = "Kernels run 97 % of the time; graphs replayed: 1,234"
    assert shown() == [f"{told}, 1.00 for a token, with 183 kernels"]
    live.add_memory(on_card(spilled_mib=0, replays_per_token=0.0))
    assert shown() == [told]


def test_memory_that_windows_moved_out_of_the_card_is_a_warning(live: LivePanel) -> None:
    def warnings() -> list[str]:
        shown = (label for label in live.findChildren(QLabel) if label.isVisible())
        return [label.text() for label in shown if "do not fit the card" in label.text()]

    live.add_memory(on_card(spilled_mib=0))
    assert not warnings()
    live.add_memory(on_card(spilled_mib=512))
    assert warnings()[0].startswith("512 MiB do not fit the card")
    live.add_memory(sample(300, 1000))
    assert not warnings()


def test_ceiling_is_in_view_when_it_matters(live: LivePanel) -> None:
    live.add_memory(sample(300, 1000))
    assert live.memory_plot.viewRange()[1][1] >= 1000
    live.add_memory(sample(300, 64_000))
    live.draw()
    assert live.memory_plot.viewRange()[1][1] < 500


def test_samples_before_the_plots_are_there_are_drawn_then(qtbot: QtBot) -> None:
    panel = LivePanel()
    qtbot.addWidget(panel)
    panel.show()
    panel.add_memory(sample(300, 1000))
    panel.start()
    qtbot.waitUntil(lambda: panel.memory_plot is not None, timeout=60_000)
    assert panel.memory_plot.top_values[-1] == 300.0
    panel.shutdown()


def test_several_samples_at_once_are_drawn_once_and_none_is_left_out(
    qtbot: QtBot, live: LivePanel
) -> None:
    for number in (300, 310, 320):
        live.add_memory(sample(number, 1000))
    assert live.memory_plot.top_values[-1] == 300.0
    qtbot.waitUntil(lambda: live.memory_plot.top_values[-1] == 320.0, timeout=30_000)


def test_plots_that_are_held_still_catch_up(live: LivePanel) -> None:
    live.add_memory(sample(300, 1000))
    live.pause_button.click()
    live.add_memory(sample(400, 1000))
    live.draw()
    assert live.memory_plot.top_values[-1] == 300.0
    live.pause_button.click()
    assert live.memory_plot.top_values[-1] == 400.0


def test_pointing_at_a_moment_tells_its_values(qtbot: QtBot, live: LivePanel) -> None:
    live.add_memory(sample(300, 1000))
    live.add_rate(41.26)
    live.draw()
    for plot, expected in ((live.memory_plot, "KV cache 20.0 MiB"), (live.rate_plot, "41.3 tok/s")):
        right = QPointF(plot.width() - 8, 40)
        where = QPointF(plot.mapToGlobal(right.toPoint()))
        none = Qt.MouseButton.NoButton
        event = QMouseEvent(
            QEvent.Type.MouseMove, right, where, none, none, Qt.KeyboardModifier.NoModifier
        )
        plot.mouseMoveEvent(event)
        assert expected in QToolTip.text()


def test_reading_a_prompt_is_counted_where_the_speed_stands(live: LivePanel) -> None:
    live.show_prefill(PrefillProgressed("r", 512, 2048, 0))
    texts = [label.text() for label in live.findChildren(QLabel)]
    assert "prompt: 512 of 2,048 tokens" in texts


@pytest.mark.parametrize(("rates", "shown"), [([], "–"), ([40.0], "40.0 tok/s")])
def test_a_prompt_that_is_read_no_longer_is_not_told(
    live: LivePanel, rates: list[float], shown: str
) -> None:
    """A reply may be over before its speed was measured."""
    for rate in rates:
        live.add_rate(rate)
    live.show_prefill(PrefillProgressed("r", 512, 2048, 0))
    live.end_reply()
    texts = [label.text() for label in live.findChildren(QLabel)]
    assert shown in texts
    assert not any("512 of" in text for text in texts)


def test_a_prompt_is_read_at_a_speed_of_its_own() -> None:
    history = LiveHistory()
    chunks = [("a", 512, 10.0), ("a", 1024, 10.5), ("a", 2048, 11.0), ("b", 700, 20.0)]
    for request_id, num_done, now_s in chunks:
        history.add_prompt(PrefillProgressed(request_id, num_done, 2048, 0), now_s)
    assert [point.tok_s for point in history.prompts] == [0.0, 1024.0, 1536.0, 0.0]
    rows = list(csv.DictReader(history.to_csv(20.0, NOW).splitlines()))
    assert [row["prompt_tokens_read"] for row in rows] == ["512", "1024", "2048", "700"]
    history.add_prompt(PrefillProgressed("b", 1400, 2048, 0), 20.0 + WINDOW_S)
    assert [point.request_id for point in history.prompts] == ["b", "b"]


def test_a_prompt_rises_behind_the_speed_as_it_is_read(
    live: LivePanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    for num_done in (500, 1000, 2000):
        tok_s = live.show_prefill(PrefillProgressed("r", num_done, 2000, 0))
        clock[0] += 0.5
    assert tok_s == 1500.0
    texts = [label.text() for label in live.findChildren(QLabel)]
    assert "prompt: 2,000 of 2,000 tokens, 1,500 tok/s" in texts
    live.add_rate(40.0)
    live.draw()
    heights = live.rate_plot._prompts.getData()[1] / live.rate_plot.viewRange()[1][1]
    assert list(heights) == pytest.approx([0, 0.25, 0.25, 0.5, 0.5, 1, 0])
    assert live.rate_plot.describe(1) == "prompt: 1,000 of 2,000 tokens, 1,000 tok/s"
    assert live.rate_plot.describe(3) == "40.0 tok/s"


def test_numbers_and_picture_are_saved(qtbot: QtBot, live: LivePanel, tmp_path: Path) -> None:
    live.add_memory(sample(300, 1000))
    live.add_rate(41.26)
    for save, name in (
        (live.export.save_table, "数 table.csv"),
        (live.export.save_picture, "picture.png"),
    ):
        with qtbot.waitSignal(live.export.saver.saved, timeout=60_000):
            save(tmp_path / name)
        assert name in live.saved.text()
    rows = list(
        csv.DictReader((tmp_path / "数 table.csv").read_text(encoding="utf-8").splitlines())
    )
    assert [row["kv_bytes"] for row in rows] == [str(20 * MIB), ""]
    assert [row["tokens_per_second"] for row in rows] == ["", "41.26"]
    moments = [datetime.fromisoformat(row["time"]) for row in rows]
    assert abs(datetime.now().astimezone() - moments[0]) < timedelta(hours=1)
    assert QImage(str(tmp_path / "picture.png")).width() == live.width()


def test_a_picture_that_cannot_be_saved_says_so(
    qtbot: QtBot, live: LivePanel, tmp_path: Path
) -> None:
    for save in (live.export.save_picture, live.export.save_table):
        with qtbot.waitSignal(live.export.saver.failed, timeout=60_000):
            save(tmp_path / "no folder" / "x.png")
        assert live.saved.text()


def test_ten_minutes_are_kept() -> None:
    history = LiveHistory()
    for second in range(1000):
        history.add_rate(float(second), float(second))
    assert (history.rates[0].time_s, len(history.rates)) == (999 - WINDOW_S, WINDOW_S + 1)


def test_rate_is_shown_and_plotted(live: LivePanel) -> None:
    live.add_rate(41.26)
    assert any(label.text() == "41.3 tok/s" for label in live.findChildren(QLabel))
    assert live.rate_plot.viewRange()[1][1] >= 41.3


@pytest.mark.parametrize(
    ("used_mib", "ceiling_mib", "labels"),
    [
        (300, 900, ["0", "200 MiB", "400 MiB", "600 MiB", "800 MiB"]),
        (9000, 16384, ["0", "5 GiB", "10 GiB", "15 GiB"]),
    ],
)
def test_the_memory_axis_tells_its_unit(
    live: LivePanel, used_mib: int, ceiling_mib: int, labels: list[str]
) -> None:
    live.add_memory(sample(used_mib, ceiling_mib))
    axis = live.memory_plot.getAxis("left")
    low, high = axis.range
    spacing, values = axis.tickValues(low, high, axis.size().height())[0]
    assert axis.tickStrings(values, axis.scale, spacing) == labels
    assert high > ceiling_mib > low == 0  # the line of the ceiling is in view


def test_ten_minutes_are_drawn_with_what_can_be_seen() -> None:
    """The newest always; nothing moves from one stretch to another while time goes on."""
    points = [RatePoint(100 + index / 4, float(index)) for index in range(2400)]
    drawn = thinned(points, 700.0)
    assert 100 < len(drawn) <= 241
    assert drawn[-1] == points[-1]
    assert set(thinned(points, 700.9)) == set(drawn)
    assert thinned(points[:240], 700.0) == points[:240]


@pytest.mark.parametrize("rest_s", [10.0, 300.0])
def test_between_two_replies_the_speed_lies_on_the_ground(rest_s: float) -> None:
    """A line from the end of one to the start of the next would tell of tokens that none made."""
    first = [RatePoint(index / 4, 40.0) for index in range(40)]
    start_s = first[-1].time_s + rest_s
    second = [RatePoint(start_s + index / 4, 90.0) for index in range(1000)]
    now_s = second[-1].time_s
    curve = list(with_rests(thinned([*first, *second], now_s), now_s))
    ground = [x for x, rate in curve if not rate]
    assert len(ground) == 2
    assert ground[1] - ground[0] == pytest.approx(rest_s, abs=5.0)
    assert {rate for _, rate in curve} == {0.0, 40.0, 90.0}
    assert list(with_rests([], now_s)) == []


def test_a_single_measurement_of_the_speed_is_seen(live: LivePanel) -> None:
    """As a line from the ground: a point by itself would not be drawn."""
    plot, history = live.rate_plot, LiveHistory()
    assert plot is not None
    history.add_rate(31.0, 95.0)
    plot.draw(history, 100.0)
    for _ in range(3):
        QApplication.processEvents()
    picture = plot.grab().toImage()
    colour = QColor(current_tokens().plot_kv)
    rows = [picture.height() // 2, picture.height() * 3 // 4]
    columns = range(60, picture.width())
    seen = [x for x in columns if all(_is_like(picture.pixelColor(x, y), colour) for y in rows)]
    assert 1 <= len(seen) <= 4


def _is_like(one: QColor, other: QColor) -> bool:
    channels = zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)
    return all(abs(a - b) < 60 for a, b in channels)
