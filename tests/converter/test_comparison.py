"""Grids side by side on a text: what is measured, what is proven, and that nothing is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.converter import evaluation
from app.converter.pipeline import convert
from app.core.conversion_events import ConversionProgressed, EvaluationProgressed
from app.core.errors import JobCancelledError, UsageError
from app.core.events import Event
from app.core.jobs import CancelToken
from tests.converter.test_conversion import hashes, names_in
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf


@pytest.fixture(autouse=True)
def _short_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "MAX_TOKENS", 96)
    monkeypatch.setattr(evaluation, "WINDOW", 48)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    model = TinyModel("llama", hidden=64, inner=96)
    tensors = to_gguf_tensors(model, model.weights())
    types = {name: Q.Q4_1 for name in tensors if "norm" not in name}
    return write_gguf(tmp_path / "model.gguf", model, tensors, types)


def test_a_lossless_conversion_is_proven_not_measured(source: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    report = convert(source, tmp_path / "out", evaluate=True, listener=events.append)
    (row,) = report.evaluations
    assert report.lossless
    assert row.proven
    assert (row.grid, row.kl_mean, row.kl_max, row.top1_agreement) == ("this", 0, 0, 1)
    assert row.output_bytes == report.output_bytes
    assert 100 < row.perplexity < 1000  # random weights over 288 words
    assert row.num_tokens == 94
    told = [event for event in events if isinstance(event, EvaluationProgressed)]
    assert (told[-1].num_done, told[-1].num_tokens) == (96, 96)


def test_grids_side_by_side(source: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    report = convert(
        source,
        tmp_path / "out",
        grid="w4",
        group_size=32,
        compare=("w3", "w8", "exact"),
        listener=events.append,
    )
    rows = {row.grid: row for row in report.evaluations}
    assert list(rows) == ["this", "w3", "w8", "exact"]
    assert [row.proven for row in rows.values()] == [False, False, False, True]
    assert rows["w3"].kl_mean > rows["this"].kl_mean > rows["w8"].kl_mean > 0
    assert rows["w3"].output_bytes < rows["this"].output_bytes < rows["w8"].output_bytes
    assert rows["w3"].rel_err_max > rows["this"].rel_err_max > rows["w8"].rel_err_max > 0
    assert names_in(tmp_path) == ["model.gguf", "out"]
    steps = {
        (event.compared_grid, event.step)
        for event in events
        if isinstance(event, ConversionProgressed)
    }
    assert {("", "embed"), ("w3", "embed"), ("exact", "layer 1")} <= steps
    assert_reports_agree(tmp_path / "out", [row.grid for row in report.evaluations], report)


def assert_reports_agree(output: Path, grids: list[str], report: Any) -> None:
    stored = json.loads((output / "evaluation.json").read_text(encoding="utf-8"))
    assert [row["grid"] for row in stored] == grids
    assert [row["kl_mean"] for row in stored] == [row.kl_mean for row in report.evaluations]
    text = (output / "evaluation.md").read_text(encoding="utf-8")
    assert "| exact | " in text
    assert "| 0 (same bits) | 0 | 100 % |" in text


def test_the_evaluation_changes_no_byte_of_the_checkpoint(source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "plain", grid="w4", group_size=32)
    convert(source, tmp_path / "evaluated", grid="w4", group_size=32, evaluate=True)
    evaluated = hashes(tmp_path / "evaluated")
    extra = {"evaluation.json", "evaluation.md"}
    assert evaluated.keys() - hashes(tmp_path / "plain").keys() == extra
    kept = {name: value for name, value in evaluated.items() if name not in extra}
    assert kept == hashes(tmp_path / "plain")


def test_a_cancel_during_the_evaluation_leaves_nothing(source: Path, tmp_path: Path) -> None:
    token = CancelToken()

    def listen(event: Event) -> None:
        if isinstance(event, EvaluationProgressed):
            token.cancel()

    with pytest.raises(JobCancelledError):
        convert(source, tmp_path / "out", grid="w4", evaluate=True, listener=listen, cancel=token)
    assert names_in(tmp_path) == ["model.gguf"]


def test_what_cannot_be_evaluated_is_converted_all_the_same(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.engine.placement.available_memory_bytes", lambda: 1000)
    report = convert(source, tmp_path / "out", evaluate=True)
    assert report.evaluations == ()
    assert report.notes[-1].startswith("Not evaluated: The model needs ")
    assert names_in(tmp_path) == ["model.gguf", "out"]
    assert not (tmp_path / "out" / "evaluation.md").exists()


@pytest.mark.parametrize("grid", ["w5", "auto", "w3w4"])
def test_grids_that_cannot_be_compared(grid: str, source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be compared with"):
        convert(source, tmp_path / "out", compare=("w4", grid))
    assert names_in(tmp_path) == ["model.gguf"]
