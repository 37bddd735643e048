"""Sources for validations, and what their reports say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.core.jobs import CancelToken
from app.core.validation_events import CheckStatus, DifferenceState, ValidationReport
from app.validation.context import Context
from app.validation.runner import validate
from app.validation.subject import open_subject
from tests.tiny_models import BASE, create_tiny_model, tokenizer_files

# What runs a network with random weights: consequences of every wrong fact.
SMOKE = frozenset({"smoke_one_layer", "smoke_two_layers", "long_position"})


def write_config(folder: Path, model_type: str, drop: tuple[str, ...] = (), **changes: Any) -> Path:
    """config.json alone, as transformers writes it, without the keys `drop`."""
    config = json.loads(create_tiny_model(model_type, **changes).config.to_json_string())
    kept = {key: value for key, value in config.items() if key not in drop}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")
    return folder


def write_texts(folder: Path, **tokenizer_config: Any) -> Path:
    """A tokenizer of printable ASCII beside what is there, its configuration changed."""
    files = tokenizer_files()
    config = json.loads(files["tokenizer_config.json"]) | tokenizer_config
    (folder / "tokenizer.json").write_text(files["tokenizer.json"], encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    ids = {"bos_token_id": BASE["bos_token_id"], "eos_token_id": BASE["eos_token_id"]}
    (folder / "generation_config.json").write_text(json.dumps(ids), encoding="utf-8")
    return folder


def report_on(source: Path | str) -> ValidationReport:
    """The report, with nobody listening."""
    return validate(str(source), lambda event: None)


def red(report: ValidationReport) -> set[str]:
    """Names of the rows that failed."""
    return {check.name for check in report.failed}


def statuses(report: ValidationReport) -> Mapping[str, CheckStatus]:
    """Every row's status by name."""
    return {check.name: check.status for check in report.checks}


def detail(report: ValidationReport, name: str) -> str:
    """What a row says."""
    return next(check.detail for check in report.checks if check.name == name)


def different(report: ValidationReport) -> set[str]:
    """Names of the entries of the difference analysis that differ."""
    entries = report.differences
    return {entry.name for entry in entries if entry.state is DifferenceState.DIFFERENT}


def create_context(source: Path, scratch: Path) -> Context:
    """For a row on its own; the caller closes `subject`."""
    return Context(open_subject(str(source)), scratch, lambda event: None, CancelToken())
