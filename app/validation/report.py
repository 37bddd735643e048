"""The report as Markdown, to be attached to a bug, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from app.core.validation_events import (
    Check,
    Difference,
    DifferenceList,
    DifferenceState,
    Metric,
    ValidationReport,
)

_TEXTS = ("markdown", "document")


def render_json(report: ValidationReport) -> str:
    """Everything, for programs."""
    values = {name: value for name, value in asdict(report).items() if name not in _TEXTS}
    return json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def render_markdown(report: ValidationReport) -> str:
    """Everything, for people."""
    return "\n".join(_iter_lines(report)) + "\n"


def _iter_lines(report: ValidationReport) -> Iterator[str]:
    chain = report.chain
    yield f"# Integration report: {report.name}"
    yield ""
    yield f"**{report.verdict.status}**: {report.verdict.reason}"
    yield ""
    yield "## Task"
    yield ""
    yield f"- format: {chain.format}"
    yield f"- config -> {chain.config}"
    yield f"- adapter -> {chain.adapter or 'none'}"
    yield f"- ModelSpec -> family {chain.family or 'none'}"
    yield f"- executors -> {', '.join(chain.executors) or 'none'}"
    yield f"- reference: {report.reference}"
    yield f"- took {report.seconds:.1f} s, {report.cpu_seconds:.1f} s of processor time"
    yield ""
    yield "## Environment"
    yield ""
    yield from _table(("", ""), report.environment)
    yield "## Checks"
    yield ""
    yield from _table(("check", "status", "detail"), map(_check_row, report.checks))
    yield from _iter_differences(report)
    yield "## Figures"
    yield ""
    yield from _iter_metrics(report.checks)
    yield from _iter_prompts(report)
    yield "## Not verified"
    yield ""
    yield from (f"- {line}" for line in report.unverified or ("nothing",))
    yield ""
    yield "## ModelSpec"
    yield ""
    yield from _table(("field", "value"), chain.spec)


def _check_row(check: Check) -> tuple[str, str, str]:
    return f"{check.title} (`{check.name}`)", check.status, check.detail


def _iter_differences(report: ValidationReport) -> Iterator[str]:
    yield "## Differences"
    yield ""
    for kind in DifferenceList:
        entries = [entry for entry in report.differences if entry.list is kind]
        yield f"### {kind.value.capitalize()}"
        yield ""
        rows = map(_difference_row, entries)
        yield from _table(("what", "state", "ours", "reference"), rows)


def _difference_row(entry: Difference) -> tuple[str, str, str, str]:
    state = entry.state.value
    if entry.state is DifferenceState.DIFFERENT:
        state = f"**{state}**"
    return entry.name, state, entry.ours, entry.reference


def _iter_metrics(checks: Iterable[Check]) -> Iterator[str]:
    rows = [
        (check.name, name, _figure(value))
        for check in checks
        for name, value in _metrics(check).items()
    ]
    yield from _table(("check", "figure", "value"), rows)


def _metrics(check: Check) -> Mapping[str, Metric]:
    return check.metrics


def _figure(value: Metric) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _iter_prompts(report: ValidationReport) -> Iterator[str]:
    if not report.prompts:
        return
    yield "## Rendered prompts"
    yield ""
    for prompt in report.prompts:
        yield f"### {prompt.turns}"
        yield ""
        # Four ticks: templates hold three.
        yield from ("````text", prompt.text, "````", "")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield _row(head)
    yield "|" + "---|" * len(head)
    yield from map(_row, rows)
    yield ""


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
