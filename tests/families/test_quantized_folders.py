"""Families with fused, reordered or ungated linears, quantized by AWQ: exact, row by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file, save_file

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from tests.awq_factory import Grid, pack_gemm, prefixed, random_grid
from tests.families.dense_cases import NO_RMS_NORM
from tests.families.internlm_cases import publish_internlm2
from tests.family_models import FamilyCase, reference_logits, write_folder

Arrays = dict[str, npt.NDArray[Any]]
GROUP = 32
_SIZES = {"hidden_size": 64, "intermediate_size": 96}
STARCODER2 = FamilyCase("starcoder2", "starcoder2", {**_SIZES, **NO_RMS_NORM, "sliding_window": 9})
CASES = [
    FamilyCase("glm4", "glm4", {**_SIZES, "head_dim": 16}),
    FamilyCase("internlm2", "llama", _SIZES, publish=publish_internlm2),
    STARCODER2,
]


def write_pair(case: FamilyCase, root: Path) -> tuple[Path, Path, dict[str, Grid]]:
    """An AWQ folder, a dense one of what it decodes to, and the grids by stem."""
    dense = write_folder(case, root / "dense")
    awq = write_folder(case, root / "awq")
    stored = load_file(dense / "model.safetensors")
    grids = {
        name.removesuffix(".weight"): random_grid(weight.shape, GROUP, seed)
        for seed, (name, weight) in enumerate(stored.items())
        if weight.ndim == 2 and ".layers." in name
    }
    decoded = {f"{stem}.weight": _decode(grid) for stem, grid in grids.items()}
    others = {name: values for name, values in stored.items() if name not in decoded}
    save_file(others | decoded, dense / "model.safetensors")
    packed = [prefixed(stem, pack_gemm(grid)) for stem, grid in grids.items()]
    save_file(
        others | {k: v for part in packed for k, v in part.items()}, awq / "model.safetensors"
    )
    _declare_awq(awq)
    return awq, dense, grids


def _decode(grid: Grid) -> npt.NDArray[np.float32]:
    return np.asarray(grid.weight(), np.float32)  # exact: 5 bits times float16


def _declare_awq(folder: Path) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["quantization_config"] = {
        "quant_method": "awq",
        "bits": 4,
        "group_size": GROUP,
        "zero_point": True,
        "version": "gemm",
    }
    path.write_text(json.dumps(config), encoding="utf-8")


def read_linears(folder: Path) -> Arrays:
    """Every linear, decoded, and every bias."""
    found: Arrays = {}
    with Checkpoint.open(folder) as checkpoint:
        for name in checkpoint.manifest.linears:
            linear = checkpoint.linear(name)
            found[name] = dequantize(linear)
            if linear.bias is not None:
                found[f"{name}.bias"] = np.array(linear.bias)
    return found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_packed_rows_are_cut_and_reordered_as_dense_ones(case: FamilyCase, tmp_path: Path) -> None:
    awq, dense, _ = write_pair(case, tmp_path)
    report = convert(awq, tmp_path / "from-awq")
    assert report.lossless
    convert(dense, tmp_path / "from-dense", grid="dense")
    found, wanted = read_linears(tmp_path / "from-awq"), read_linears(tmp_path / "from-dense")
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_starcoder2_with_scaled_activations(tmp_path: Path) -> None:
    """AutoAWQ wraps the activation before c_proj; what it divides by is divided out of c_proj."""
    awq, dense, grids = write_pair(STARCODER2, tmp_path)
    stored = load_file(dense / "model.safetensors")
    unscaled = reference_logits(_convert(dense, tmp_path / "unscaled"))
    rng, scales = np.random.default_rng(3), {}
    for stem in (stem for stem in grids if stem.endswith(".mlp.c_proj")):
        values = rng.uniform(0.5, 2, grids[stem].codes.shape[1]).astype(np.float16)
        scales[stem.replace(".c_proj", ".act.scales")] = values
        stored[f"{stem}.weight"] = _decode(grids[stem]) / values.astype(np.float32)
    save_file(stored, dense / "model.safetensors")
    save_file(load_file(awq / "model.safetensors") | scales, awq / "model.safetensors")
    report = convert(awq, tmp_path / "from-awq")
    assert not report.lossless
    wanted = reference_logits(_convert(dense, tmp_path / "scaled"))
    found = reference_logits(tmp_path / "from-awq")
    assert _distance(found, wanted) < 0.005
    assert _distance(unscaled, wanted) > 0.05


def _convert(folder: Path, output: Path) -> Path:
    convert(folder, output, grid="dense")
    return output


def _distance(found: Any, wanted: Any) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))
