"""The limits of error: what weights cost, what outliers cost, and what is done about those."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.converter.grids import ERROR_LIMITS, GROUP_SIZES, Grid, convert_linear, plan_linear
from app.converter.pipeline import convert
from app.converter.requantize import SourceMatrix, requantize
from app.converter.sources.detect import open_source
from app.core.errors import UnsupportedError
from tests.converter.test_dense_source import hf_tensors, write_folder
from tests.gguf_factory import Floats, TinyModel

SHAPE = (256, 1024)


def gauss() -> Floats:
    return np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)


def heavy_tailed() -> Floats:
    return np.random.default_rng(0).standard_t(5, SHAPE).astype(np.float32)


def with_outliers(weight: Floats, factor: float = 10) -> Floats:
    weight[:, ::64] *= factor
    return weight


def cost(weight: Floats, bits: int, group_size: int = 128) -> float:
    matrix = SourceMatrix("w", SHAPE, lambda: iter([(slice(0, SHAPE[0]), weight)]))
    return requantize(matrix, bits, group_size).rel_err


@pytest.mark.parametrize(
    ("weight", "costs"),
    [
        (gauss(), (0.19, 0.10, 0.006)),
        (heavy_tailed(), (0.25, 0.14, 0.009)),
        (with_outliers(gauss()), (0.41, 0.26, 0.018)),
    ],
    ids=["gauss", "t5", "outliers"],
)
def test_what_the_limits_were_chosen_by(weight: Floats, costs: tuple[float, ...]) -> None:
    for bits, expected in zip((3, 4, 8), costs, strict=True):
        assert cost(weight, bits) == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("bits", [3, 4, 8])
@pytest.mark.parametrize("group_size", GROUP_SIZES)
def test_what_is_distributed_like_weights_stays_below_the_limits(
    bits: int, group_size: int
) -> None:
    assert cost(gauss(), bits, group_size) < ERROR_LIMITS[bits]
    assert cost(heavy_tailed(), bits, group_size) < ERROR_LIMITS[bits]


def test_the_starters_layers_stay_below_the_limits(starter_gguf: Path) -> None:
    source = open_source(starter_gguf)
    layer = next(part for part in source.parts() if part.file == "layer_00")
    for linear in layer.linears:
        for grid, bits in ((Grid.W4, 4), (Grid.W3, 3)):
            converted = convert_linear(linear, plan_linear(linear, grid))
            assert 0.05 < converted.rel_err < 0.75 * ERROR_LIMITS[bits]


def write_outliers(folder: Path, factor: float) -> Path:
    """A dense model of which one linear has outliers."""
    model = TinyModel("llama", hidden=128, inner=256, layers=1)
    tensors = hf_tensors(model, np.float32)
    with_outliers(tensors["model.layers.0.mlp.up_proj.weight"], factor)
    return write_folder(folder, model, tensors)


@pytest.mark.parametrize("grid", ["w3", "w4"])
def test_an_outlier_gets_more_bits_and_is_named(grid: str, tmp_path: Path) -> None:
    report = convert(write_outliers(tmp_path / "model", 10), tmp_path / "out", grid=grid)
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        quants = {n: r.quant for n, r in checkpoint.manifest.linears.items()}
    named = next(note for note in report.notes if note.startswith("Stored at more bits"))
    assert named.endswith(": layers.0.mlp.up_proj.")
    for name, quant in quants.items():
        assert quant is not None
        is_kept = name in ("embed_tokens", "lm_head", "layers.0.mlp.up_proj")
        assert quant.bits == (8 if is_kept else int(grid[1]))
    assert "layers.0.mlp.up_proj" in (tmp_path / "out" / "conversion_report.md").read_text("utf-8")


def test_what_3_bits_ruin_and_4_hold_gets_4(tmp_path: Path) -> None:
    convert(write_outliers(tmp_path / "model", 5), tmp_path / "out", grid="w3")
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        quant = checkpoint.manifest.linears["layers.0.mlp.up_proj"].quant
    assert quant is not None
    assert quant.bits == 4


@pytest.mark.parametrize("grid", ["w4", "w8"])
def test_what_even_int8_ruins_is_refused_by_name(grid: str, tmp_path: Path) -> None:
    model = write_outliers(tmp_path / "model", 30)
    with pytest.raises(UnsupportedError, match=r"model\.layers\.0\.mlp\.up_proj.* would lose 2"):
        convert(model, tmp_path / "out", grid=grid)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    report = convert(model, tmp_path / "out", grid=grid, allow_lossy=True)
    lost = {tensor.name: tensor.rel_err for tensor in report.tensors}
    assert ERROR_LIMITS[8] < lost["layers.0.mlp.up_proj"] < 0.03
