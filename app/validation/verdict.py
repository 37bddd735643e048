"""What the rows amount to: supported, supported after conversion, or refused and why."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.sentence import Sentence
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
        reason = failed[0].detail
        if more := len(failed) - 1:
            reason = Sentence("{reason} ({more} more rows failed)", reason=reason, more=more)
        return Verdict(VerdictStatus.REFUSED, reason)
    if subject.format == NATIVE:
        return Verdict(
            VerdictStatus.SUPPORTED, Sentence("It is a native checkpoint and runs as it is.")
        )
    return Verdict(VerdictStatus.CONVERT, Sentence("It runs after conversion."))


def list_unverified(checks: Sequence[Check], differences: Sequence[Difference]) -> tuple[str, ...]:
    """A line for every row that did not run and every entry that nobody could be asked about."""
    rows = [
        Sentence("{title}: {detail}", title=check.title, detail=check.detail)
        for check in checks
        if check.status is CheckStatus.NOT_RUN
    ]
    entries = [
        Sentence("{title}: {detail}", title=entry.name, detail=entry.reference)
        for entry in differences
        if entry.state is DifferenceState.UNCONFIRMED
    ]
    return (*rows, *entries)
