"""A conversion writes the same bytes whether or not the native library is at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.converter import grid_search
from app.converter.pipeline import convert
from app.converter.sources import gguf_codes
from kernels.cpu.loader import load
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("grid", ["exact", "w4", "w8"])
def test_the_same_bytes_without_the_library(
    grid: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The random blocks of a K-quant have scales of any size, so that of requantizing is lossy."""
    load()  # is built where it was not, or both would be NumPy's
    model = TinyModel("qwen3", layers=1, hidden=256, heads=4, kv_heads=2, head_dim=64, inner=512)
    tensors = to_gguf_tensors(model, model.weights())
    types = {"blk.0.attn_q.weight": Q.Q3_K, "blk.0.attn_k.weight": Q.Q4_0}
    source = write_gguf(tmp_path / "m.gguf", model, tensors, types)
    convert(source, tmp_path / "native", grid=grid, allow_lossy=True)
    monkeypatch.setattr(grid_search, "is_available", lambda: False)
    monkeypatch.setattr(gguf_codes, "is_available", lambda: False)
    convert(source, tmp_path / "numpy", grid=grid, allow_lossy=True)
    assert _files(tmp_path / "native") == _files(tmp_path / "numpy")
