"""The benchmark behind README's table of conversions: what it measures, what it keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.converter.pipeline import convert
from benchmarks import conversion_quality, conversion_table
from benchmarks.conversion_quality import SourceQuality
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf


@pytest.fixture(autouse=True)
def _short_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion_quality, "NUM_TOKENS", 64)


def test_exact_rows_predict_what_the_source_predicts(tmp_path: Path) -> None:
    model = TinyModel("llama", hidden=64, inner=96)
    tensors = to_gguf_tensors(model, model.weights())
    types = {name: Q.Q4_1 for name in tensors if "norm" not in name}
    source = write_gguf(tmp_path / "model.gguf", model, tensors, types)
    for grid in ("dense", "exact", "w3"):
        convert(source, tmp_path / grid, grid=grid, group_size=32)
    quality = SourceQuality(tmp_path / "dense")
    exact, lossy = quality.compare(tmp_path / "exact"), quality.compare(tmp_path / "w3")
    assert exact.perplexity == pytest.approx(quality.perplexity, rel=1e-6)
    assert exact.kl_mean == pytest.approx(0, abs=1e-7)
    assert exact.yardstick_perplexity == lossy.yardstick_perplexity == quality.perplexity
    assert lossy.kl_mean is not None
    assert lossy.kl_mean > 1e-5  # small: random weights say nearly the same of all words


def test_rows_of_finished_sources_are_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {
        "source": "GGUF Q4_0",
        "grid": "exact",
        "lossless": True,
        "rel_err_max": 0.0,
        "source_bytes": 92e6,
        "output_bytes": 92e6,
        "seconds": 1.4,
        "peak_rss_bytes": 163e6,
        "perplexity": 27.5568,
        "source_perplexity": 27.5568,
        "kl_mean": 1e-9,
    }
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"GGUF Q4_0": [row]}), encoding="utf-8")
    monkeypatch.setenv("DEEPINFER_BENCH_ROWS", str(path))
    monkeypatch.setattr(conversion_table, "makers", lambda: {"GGUF Q4_0": None})
    assert conversion_table.measure([]) == [row]
    assert "| 27.5568 | 27.5568 | < 1e-6 | 92 -> 92 MB |" in conversion_table.render([row])
