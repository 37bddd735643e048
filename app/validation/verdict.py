"""What the rows amount to: supported, supported after conversion, or refused and why."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.validation_events import (
    Check,
    CheckStatus,
    Difference,
    DifferenceState,
    Verdict,
    VerdictStatus,
)
from app.validation.subject import NATIVE, Subject


def decide(subject: Subject, checks: Sequence[Check]) -> Verdict:
    """Red rows refuse; the first is the cause, for rows go from cause to consequence."""
    failed = [check for check in checks if check.status is CheckStatus.FAIL]
    if failed:
        more = f" ({len(failed) - 1} more rows failed)" if len(failed) > 1 else ""
        return Verdict(VerdictStatus.REFUSED, f"{failed[0].detail}{more}")
    if subject.format == NATIVE:
        return Verdict(VerdictStatus.SUPPORTED, "It is a native checkpoint and runs as it is.")
    return Verdict(VerdictStatus.CONVERT, "It runs after conversion.")


def list_unverified(checks: Sequence[Check], differences: Sequence[Difference]) -> tuple[str, ...]:
    """A line for every row that did not run and every entry that nobody could be asked about."""
    rows = [
        f"{check.title}: {check.detail}" for check in checks if check.status is CheckStatus.NOT_RUN
    ]
    entries = [
        f"{entry.name} ({entry.list}): {entry.reference}"
        for entry in differences
        if entry.state is DifferenceState.UNCONFIRMED
    ]
    return (*rows, *entries)
