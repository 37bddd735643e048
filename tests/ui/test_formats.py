"""Numbers as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from PySide6.QtWidgets import QApplication

from app.core.units import format_bytes
from app.ui.formats import (
    estimate_remaining_s,
    format_duration,
    format_error,
    format_kl,
    format_moment,
    format_parameters,
    format_perplexity,
    format_rate,
)
from app.ui.language import Language


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1023, "1.0 KiB"),
        (98_341_632, "93.8 MiB"),
        (150 * 1024**2, "150 MiB"),
        (25_198_714_880, "23.5 GiB"),
        (5 * 1024**5, "5120 TiB"),
    ],
)
def test_bytes(num_bytes: int, text: str) -> None:
    assert format_bytes(num_bytes) == text


def test_rate() -> None:
    assert format_rate(2 * 1024**2) == "2.0 MiB/s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.84, "0.8 s"),
        (9.97, "10 s"),
        (59.4, "59 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(134_515_008, "135 M"), (7_615_616_512, "7.6 B")])
def test_parameters(count: int, text: str) -> None:
    assert format_parameters(count) == text


@pytest.mark.parametrize(
    ("error", "text"), [(0.0, "0"), (1e-9, "1e-07 %"), (0.0712, "7.1 %"), (0.109, "10.9 %")]
)
def test_only_no_error_is_zero(error: float, text: str) -> None:
    assert format_error(error) == text


@pytest.mark.parametrize(
    ("perplexity", "text"),
    [(15.9, "15.90"), (16.234, "16.23"), (120.0, "120.00"), (3.1e8, "3.1e+08")],
)
def test_perplexity_has_two_decimals(perplexity: float, text: str) -> None:
    assert format_perplexity(perplexity) == text


@pytest.mark.parametrize(
    ("kl", "text"),
    [
        (0.0, "0"),
        (3e-8, "< 1e-6"),
        (0.00042, "0.00042"),
        (0.0312, "0.031"),
        (0.3, "0.30"),
        (1.53, "1.5"),
    ],
)
def test_kl_has_two_significant_digits(kl: float, text: str) -> None:
    assert format_kl(kl) == text


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 3, 5, 9, 7, tzinfo=UTC), "09:07"),
        (datetime(2026, 3, 2, 9, 7, tzinfo=UTC), "Mon 09:07"),
        (datetime(2025, 12, 24, 9, 7, tzinfo=UTC), "2025-12-24"),
    ],
)
def test_moment(moment: datetime, text: str) -> None:
    assert format_moment(moment, datetime(2026, 3, 5, 18, 0, tzinfo=UTC)) == text


def test_weekdays_are_in_the_language_of_the_window(qapp: QApplication) -> None:
    monday, now = datetime(2026, 3, 2, 9, 7, tzinfo=UTC), datetime(2026, 3, 5, 18, 0, tzinfo=UTC)
    language = Language(qapp, "zh_CN")
    try:
        assert format_moment(monday, now) == "周一 09:07"
    finally:
        language.remove()
    assert format_moment(monday, now) == "Mon 09:07"


def test_remaining_time_needs_a_speed() -> None:
    assert estimate_remaining_s(0, 100, 3.0) is None
    assert estimate_remaining_s(10, 100, 0.1) is None
    assert estimate_remaining_s(25, 100, 10.0) == pytest.approx(30.0)
    assert estimate_remaining_s(101, 100, 10.0) == 0.0
