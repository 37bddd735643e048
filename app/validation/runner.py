"""`validate`: opens the subject, runs the rows one after the other, and writes the report."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from app.core.boundary import Guard
from app.core.errors import AppError, JobCancelledError
from app.core.events import Event
from app.core.jobs import CancelToken, cancellable_by
from app.core.sentence import Sentence
from app.core.validation_events import (
    Check,
    CheckFinished,
    CheckStarted,
    PlannedCheck,
    ValidationFinished,
    ValidationReport,
    ValidationStarted,
)
from app.validation.catalogue import CHECKS
from app.validation.chain import describe_chain
from app.validation.check import TITLES, NotRunError, Outcome
from app.validation.context import Context
from app.validation.differences import settle
from app.validation.environment import describe_environment
from app.validation.report import render_json, render_markdown
from app.validation.spec_facts import NONE
from app.validation.subject import open_subject
from app.validation.verdict import decide, list_unverified


def validate(
    source: str, emit: Callable[[Event], None], cancel: CancelToken | None = None
) -> ValidationReport:
    """Validates a path, a name in the library, or `org/name` on the hub.

    `emit` hears, on the calling thread, ValidationStarted, for each row CheckStarted and
    CheckFinished (between them CheckProgressed, DifferencesFound, PromptsRendered), and last
    ValidationFinished. Raises an AppError when there is nothing to look at, JobCancelledError when
    cancelled; whatever a row meets is told by the row.
    """
    token = cancel or CancelToken()
    started_s, started_cpu_s = time.monotonic(), time.process_time()
    with (
        cancellable_by(token),
        closing(open_subject(source)) as subject,
        TemporaryDirectory(prefix="deepinfer-validate-", ignore_cleanup_errors=True) as scratch,
    ):
        context = Context(subject, Path(scratch), emit, token)
        emit(ValidationStarted(subject.name, describe_chain(context), _planned()))
        checks = tuple(_run(name, context) for name in CHECKS)
        differences = tuple(settle(context.differences, checks))
        report = ValidationReport(
            name=subject.name,
            verdict=decide(subject, checks),
            chain=describe_chain(context),
            reference=context.reference.text if context.reference else NONE,
            environment=describe_environment(),
            differences=differences,
            checks=checks,
            prompts=tuple(context.prompts),
            unverified=list_unverified(checks, differences),
            seconds=time.monotonic() - started_s,
            cpu_seconds=time.process_time() - started_cpu_s,
        )
    report = replace(report, markdown=render_markdown(report), document=render_json(report))
    emit(ValidationFinished(report))
    return report


def _planned() -> tuple[PlannedCheck, ...]:
    return tuple(PlannedCheck(name, TITLES[name]) for name in CHECKS)


def _run(name: str, context: Context) -> Check:
    context.cancel.check()
    context.emit(CheckStarted(name))
    check = _outcome(name, context).to_check(name)
    context.emit(CheckFinished(check))
    return check


def _outcome(name: str, context: Context) -> Outcome:
    """The reference is others' code, and what it is given may be broken."""
    failures: list[Exception] = []
    with Guard(name, failures.append):
        return CHECKS[name](context)
    return _describe(failures[0])


def _describe(error: Exception) -> Outcome:
    match error:
        case JobCancelledError():
            raise error
        case NotRunError():
            return Outcome(None, Sentence("{reason}.", reason=error.reason))
        case AppError():
            return Outcome(False, error.message)
        case _:
            return Outcome(False, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
