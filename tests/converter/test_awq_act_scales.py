"""AutoAWQ's ScaledActivation (transformers#29421, #28722, #30074): divided out, never dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.checkpoint.schemes import TensorPath
from app.converter.pipeline import convert
from app.core.errors import InvalidSourceError
from tests.awq_factory import awq_tensors
from tests.converter.test_awq import quantization
from tests.converter.test_dense_source import write_folder
from tests.gguf_factory import TinyModel

_MODEL = TinyModel("llama", hidden=128, heads=4, head_dim=32, inner=192, layers=1, tied=True)
_STEM = "model.layers.0.mlp.down_proj"
_NAME = "layers.0.mlp.down_proj"


def write(folder: Path, tensors: Any, scales: Any, name: str = "mlp.act") -> Path:
    stored = tensors | {f"model.layers.0.{name}.scales": scales}
    return write_folder(folder, _MODEL, stored, quantization_config=quantization())


def random_scales() -> Any:
    return np.random.default_rng(1).uniform(0.5, 2, _MODEL.inner).astype(np.float16)


def test_scales_of_one_change_nothing(tmp_path: Path) -> None:
    tensors, _ = awq_tensors(_MODEL, "gemm", 32)
    folder = write(tmp_path / "awq", tensors, np.ones(_MODEL.inner, np.float16))
    assert convert(folder, tmp_path / "out").lossless


@pytest.mark.parametrize("name", ["mlp.act", "mlp.act_fn", "mlp.gelu_impl"])
def test_a_quantized_linear_is_divided_and_requantized(name: str, tmp_path: Path) -> None:
    tensors, grids = awq_tensors(_MODEL, "gemm", 32)
    scales = random_scales()
    report = convert(write(tmp_path / "awq", tensors, scales, name), tmp_path / "out")
    assert not report.lossless
    row = next(tensor for tensor in report.tensors if tensor.name == _NAME)
    assert 0 < row.rel_err < 0.01
    assert name.removeprefix("mlp.") in row.source_type
    wanted = grids[_STEM].weight() / scales.astype(np.float32)
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        found = dequantize(checkpoint.linear(_NAME))
    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    assert error == pytest.approx(row.rel_err, rel=1e-3)


def test_a_dense_linear_is_divided(tmp_path: Path) -> None:
    tensors, grids = awq_tensors(_MODEL, "gemm", 32)
    weight = grids[_STEM].weight().astype(np.float16)
    for suffix in ("qweight", "qzeros", "scales"):
        del tensors[f"{_STEM}.{suffix}"]
    scales = random_scales()
    folder = write(tmp_path / "awq", tensors | {f"{_STEM}.weight": weight}, scales)
    convert(folder, tmp_path / "out")
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        assert checkpoint.manifest.linears[_NAME].provenance.path is TensorPath.DENSE
        found = dequantize(checkpoint.linear(_NAME))
    np.testing.assert_array_equal(found, weight.astype(np.float32) / scales.astype(np.float32))


def test_scales_that_cannot_be(tmp_path: Path) -> None:
    tensors, _ = awq_tensors(_MODEL, "gemm", 32)
    scales = random_scales()
    cases = {
        "zero": (np.where(np.arange(scales.size) == 3, 0, scales), "mlp.act", "holds a zero"),
        "nan": (np.where(np.arange(scales.size) == 3, np.nan, scales), "mlp.act", "not finite"),
        "short": (scales[:-1], "mlp.act", r"act\.scales \[191\] instead of \[192\]"),
        "elsewhere": (scales, "attn.act", r"unexpected model\.layers\.0\.attn\.act\.scales"),
    }
    for case, (values, name, reason) in cases.items():
        folder = write(tmp_path / case, tensors, values.astype(np.float16), name)
        with pytest.raises(InvalidSourceError, match=reason):
            convert(folder, tmp_path / "out")
