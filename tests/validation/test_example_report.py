"""The starter model's full report: green, and what docs/ shows of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from app.core.validation_events import CheckStatus, VerdictStatus
from app.validation.check import TITLES
from tests.validation_tools import different, red, report_on, statuses

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOT_RUN = {"smoke_other_kinds"}  # all layers are of one kind


def test_the_example_shows_every_row() -> None:
    document = json.loads((DOCS / "example_report.json").read_text(encoding="utf-8"))
    assert [check["name"] for check in document["checks"]] == list(TITLES)
    rows = {check["name"]: check["status"] for check in document["checks"]}
    assert {name for name, status in rows.items() if status != "pass"} == NOT_RUN
    assert {entry["state"] for entry in document["differences"]} == {"same"}


def test_the_example_names_no_machine() -> None:
    for name in ("example_report.md", "example_report.json", "adding_a_model.md"):
        text = (DOCS / name).read_text(encoding="utf-8")
        assert re.findall(r"(?:^|[\s(\"'])(?:/[a-z]+/|[A-Z]:\\)\S*", text) == []


@pytest.mark.slow
def test_the_starter_is_green(starter_gguf: Path) -> None:
    report = report_on(starter_gguf)
    assert red(report) == set()
    assert different(report) == set()
    assert report.verdict.status is VerdictStatus.CONVERT
    found = {name for name, status in statuses(report).items() if status is not CheckStatus.PASS}
    assert found == NOT_RUN


@pytest.mark.slow
def test_the_starter_is_green_when_converted(starter_checkpoint: Path) -> None:
    report = report_on(starter_checkpoint)
    assert red(report) == set()
    assert report.verdict.status is VerdictStatus.SUPPORTED
