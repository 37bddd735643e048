"""Numbers and moments as people read them in the window."""

from __future__ import annotations

from datetime import datetime, timedelta

from PySide6.QtCore import QLocale

from app.core.units import format_bytes


def format_rate(bytes_per_s: float) -> str:
    """`212 MiB/s`."""
    return f"{format_bytes(bytes_per_s)}/s"


def format_duration(seconds: float) -> str:
    """`0.8 s`, `42 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def format_count(count: int) -> str:
    """`8,192`."""
    return f"{count:,}"


def format_parameters(count: int) -> str:
    """`135 M`, `7.6 B`: parameters in the field's own unit."""
    if count >= 1e9:
        return f"{count / 1e9:.1f} B"
    return f"{count / 1e6:.0f} M"


def format_error(rel_err: float) -> str:
    """A relative error in percent: `0` only for exactly none, else two digits or a decimal."""
    if rel_err == 0:
        return "0"
    return f"{rel_err * 100:.2g} %" if rel_err < 0.0995 else f"{rel_err:.1%}".replace("%", " %")


def format_perplexity(perplexity: float) -> str:
    """Two decimals, so that those of a column stand under one another; `3.1e+08` beyond reason."""
    return f"{perplexity:.2f}" if perplexity < 1e6 else f"{perplexity:.2g}"


def format_kl(kl: float) -> str:
    """Nats per token, with two significant digits; `0` only for exactly none."""
    if kl < 1e-6:
        return "< 1e-6" if kl > 0 else "0"
    return f"{kl:.1f}" if kl >= 1 else f"{kl:#.2g}"


def format_share(share: float, digits: int = 1) -> str:
    """`97.3 %`."""
    return f"{share:.{digits}%}".replace("%", " %")


def format_moment(moment: datetime, now: datetime) -> str:
    """`14:05` today, `Mon 14:05` this week, in the window's language, else the date; both in local
    time.
    """
    age = now.date() - moment.date()
    if age < timedelta(days=1):
        return moment.strftime("%H:%M")
    if age < timedelta(days=7):
        day = QLocale().dayName(moment.isoweekday(), QLocale.FormatType.ShortFormat)
        return f"{day} {moment:%H:%M}"
    return moment.strftime("%Y-%m-%d")


def estimate_remaining_s(done: float, total: float, elapsed_s: float) -> float | None:
    """Seconds left at the average speed so far; None before there is a speed to go by."""
    if done <= 0 or elapsed_s < 0.5:
        return None
    return max(0.0, (total - done) * elapsed_s / done)
