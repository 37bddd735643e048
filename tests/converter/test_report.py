"""The quality report: error per layer and path, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.converter.pipeline import convert
from app.core.conversion_events import ConversionReport
from tests.converter.test_dense_source import hf_tensors, write_folder
from tests.gguf_factory import TinyModel


@pytest.fixture
def report(tmp_path: Path) -> ConversionReport:
    model = TinyModel("llama", hidden=64, inner=96)
    folder = write_folder(tmp_path / "model", model, hf_tensors(model, np.float16))
    return convert(folder, tmp_path / "out", grid="w4", group_size=32)


def read_json(report: ConversionReport) -> dict[str, Any]:
    text = (report.output / "conversion_report.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def test_the_json_says_what_the_event_says(report: ConversionReport) -> None:
    document = read_json(report)
    assert (document["format"], document["grid"]) == ("dense", "w4")
    assert document["rel_err_max"] == report.rel_err_max
    assert document["notes"] == list(report.notes)
    rows = {row["name"]: row for row in document["tensors"]}
    assert rows.keys() == {tensor.name for tensor in report.tensors}
    for tensor in report.tensors:
        row = rows[tensor.name]
        assert (row["path"], row["target"], row["rel_err"]) == (
            tensor.path,
            tensor.target,
            tensor.rel_err,
        )


def test_each_layer_has_its_paths_and_errors(report: ConversionReport) -> None:
    layers = {row["part"]: row for row in read_json(report)["layers"]}
    assert list(layers) == ["embed", "layer_00", "layer_01", "lm_head"]
    for part, row in layers.items():
        stem = {"embed": "embed_tokens"}.get(part, part.replace("layer_0", "layers."))
        members = [tensor for tensor in report.tensors if tensor.name.startswith(stem)]
        errors = [tensor.rel_err for tensor in members]
        assert row["rel_err_max"] == max(errors)
        assert row["rel_err_mean"] == pytest.approx(sum(errors) / len(errors))
        assert row["output_bytes"] == sum(tensor.output_bytes for tensor in members)
        assert row["paths"] == ["requant"]
    assert layers["embed"]["rel_err_max"] < 0.01 < layers["layer_00"]["rel_err_max"]


def test_the_page_names_the_worst_and_what_was_kept_apart(report: ConversionReport) -> None:
    text = (report.output / "conversion_report.md").read_text(encoding="utf-8")
    worst = max(report.tensors, key=lambda tensor: tensor.rel_err)
    assert f"Largest relative error: {worst.rel_err:.3g} ({worst.name})." in text
    kept = "embed_tokens (int8 sym g32), lm_head (int8 sym g32)"
    assert f"- Not on this grid, because it would cost most there: {kept}." in text
    assert "| layer_01 | requant |" in text
    assert "| layers.1.mlp.up_proj | F16 | requant | int4 sym g32 |" in text
