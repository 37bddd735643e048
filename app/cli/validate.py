"""`deepinfer validate`: the add-a-model procedure, row by row, and its report."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from app.cli.options import Subparsers, add_command
from app.cli.output import print_json, print_note, print_pairs
from app.core.errors import UnsupportedError, UsageError
from app.core.events import Event
from app.core.validation_events import (
    Check,
    CheckFinished,
    ValidationReport,
    ValidationStarted,
    VerdictStatus,
)
from app.hub.starter import require_starter

_STARTER, _JSON = "starter", ".json"
_MARKS = {"pass": "pass   ", "fail": "FAIL   ", "not_run": "not run"}


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `validate`."""
    parser = add_command(
        subparsers, "validate", run, "Compare a model with transformers, and write it up."
    )
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a .gguf file, a folder (config.json is enough), a native checkpoint, org/name or "
        "`starter`",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="save the report as Markdown, and as JSON beside it",
    )


def run(args: argparse.Namespace) -> None:
    """Validates; UnsupportedError when the verdict is a refusal."""
    if args.report is not None:
        _check_report_path(args.report)
    # Not above: the other commands must not wait for what it imports.
    from app.validation.runner import validate

    source = str(require_starter()) if args.source == _STARTER else args.source
    report = validate(source, _tell)
    if args.report is not None:
        _save(report, args.report)
    if args.json:
        print_json(_to_document(report, args.report))
    else:
        print_pairs([("verdict", report.verdict.status), ("reason", report.verdict.reason)])
    if report.verdict.status is VerdictStatus.REFUSED:
        raise UnsupportedError(report.verdict.reason)


def _tell(event: Event) -> None:
    """Rows as they end, on stderr."""
    match event:
        case ValidationStarted(chain=chain):
            steps = (chain.config, chain.adapter or "no adapter", chain.family or "no family")
            print_note(" -> ".join((*steps, ", ".join(chain.executors) or "no executor")))
        case CheckFinished(check=check):
            print_note(f"{_MARKS[check.status]}  {check.title}: {check.detail}")


def _check_report_path(path: Path) -> None:
    """Before minutes of work are lost."""
    if path.suffix.lower() == _JSON:
        raise UsageError(f"--report names the Markdown file; {path.name} is written beside it.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; --report names a file.")
    if not path.parent.is_dir():
        raise UsageError(f"The folder {path.parent} for the report does not exist.")


def _save(report: ValidationReport, path: Path) -> None:
    path.write_text(report.markdown, encoding="utf-8")
    path.with_suffix(_JSON).write_text(report.document, encoding="utf-8")


def _to_document(report: ValidationReport, path: Path | None) -> dict[str, Any]:
    return {
        "verdict": {"status": report.verdict.status, "reason": report.verdict.reason},
        "checks": [_check_document(check) for check in report.checks],
        "report": json.loads(report.document),
        "report_file": None if path is None else str(path),
    }


def _check_document(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "status": check.status,
        "detail": check.detail,
        "metrics": dict(check.metrics),
    }
