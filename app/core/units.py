"""Sizes as people read them, the same in the window and on the command line."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def format_bytes(num_bytes: float) -> str:
    """`88.6 MiB`: three digits at most, no decimals for bytes."""
    size = float(num_bytes)
    for unit in _UNITS:
        if abs(size) < 999.5 or unit == _UNITS[-1]:
            break
        size /= 1024
    digits = 0 if unit == "B" or abs(size) >= 99.95 else 1
    return f"{size:.{digits}f} {unit}"
