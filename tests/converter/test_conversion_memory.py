"""A 7B-shaped source with a vocabulary of 152,064 converts in less than 3 GB."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf.constants import GGMLQuantizationType

from benchmarks.measure import run_json
from benchmarks.sparse_models import write_sparse_folder, write_sparse_gguf

pytestmark = pytest.mark.slow

_LIMIT = 3 * 10**9


def peak_rss_bytes(source: Path, output: Path, grid: str) -> int:
    """Of a process of its own; the output is a checkpoint with all tensors."""
    arguments = ("-m", "app", "convert", str(source), "-o", str(output), "--grid", grid, "--json")
    report = run_json(*arguments)
    assert sum(report["tensors"].values()) in (8, 9)  # the head is tied, or not
    return int(report["peak_rss_bytes"])


def test_k_quants(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    source = write_sparse_gguf(path, GGMLQuantizationType.Q4_K, num_hidden_layers=1)
    assert peak_rss_bytes(source, tmp_path / "out", "exact") < _LIMIT // 2


def test_a_matrix_that_no_native_scheme_holds_is_never_dense(tmp_path: Path) -> None:
    """152,064 x 4,096 numbers of a code book would be 2.5 GB in float32."""
    path = tmp_path / "model.gguf"
    source = write_sparse_gguf(
        path, GGMLQuantizationType.IQ3_XXS, tie_word_embeddings=True, num_hidden_layers=1
    )
    assert peak_rss_bytes(source, tmp_path / "out", "exact") < _LIMIT


def test_dense_goes_through_in_blocks(tmp_path: Path) -> None:
    source = write_sparse_folder(tmp_path / "model", num_hidden_layers=1)
    assert peak_rss_bytes(source, tmp_path / "out", "dense") < 200 * 10**6
