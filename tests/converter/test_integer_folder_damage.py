"""AWQ and compressed-tensors folders, each damaged in one way: refused in a sentence, or right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from app.core.errors import AppError
from tests.awq_factory import awq_tensors
from tests.compressed_tensors_factory import declaration, packed_tensors, random_packed
from tests.converter.test_awq import quantization
from tests.converter.test_dense_source import write_folder
from tests.gguf_factory import TinyModel

Tensors = dict[str, npt.NDArray[Any]]
_MODEL = TinyModel("llama", hidden=128, heads=4, head_dim=32, inner=192, layers=1, tied=True)
_STEM = "model.layers.0.mlp.up_proj"


def awq_folder(layout: str) -> tuple[Tensors, dict[str, Any]]:
    tensors, _ = awq_tensors(_MODEL, layout, 32)
    return tensors, quantization(version=layout)


def ct_folder(symmetric: bool) -> tuple[Tensors, dict[str, Any]]:
    tensors, _ = packed_tensors(
        _MODEL, lambda stem, shape: random_packed(shape, symmetric=symmetric)
    )
    return tensors, declaration(symmetric=symmetric)


_FOLDERS: dict[str, Callable[[], tuple[Tensors, dict[str, Any]]]] = {
    "gemm": lambda: awq_folder("gemm"),
    "gemv": lambda: awq_folder("gemv"),
    "gemv_fast": lambda: awq_folder("gemv_fast"),
    "symmetric": lambda: ct_folder(True),
    "asymmetric": lambda: ct_folder(False),
}


def suffixes(tensors: Tensors) -> list[str]:
    return [name.removeprefix(f"{_STEM}.") for name in tensors if name.startswith(_STEM)]


def assert_refused(folder: Path, output: Path) -> str:
    """One sentence, and nothing left behind."""
    with pytest.raises(AppError) as caught:
        convert(folder, output)
    assert not output.exists()
    assert not output.with_name(f"{output.name}.partial").exists()
    message = caught.value.message
    assert "\n" not in message
    assert message.endswith(".")
    return message


def write(folder: Path, tensors: Tensors, table: dict[str, Any]) -> Path:
    return write_folder(folder, _MODEL, tensors, quantization_config=table)


@pytest.mark.parametrize("kind", _FOLDERS)
def test_each_array_missing_cut_or_of_another_type(kind: str, tmp_path: Path) -> None:
    tensors, table = _FOLDERS[kind]()
    for suffix in suffixes(tensors):
        name = f"{_STEM}.{suffix}"
        damaged = {
            "missing": {n: a for n, a in tensors.items() if n != name},
            "cut": tensors | {name: tensors[name][:-1].copy()},
            "long": tensors | {name: np.concatenate([tensors[name]] * 2)},
            "float64": tensors | {name: tensors[name].astype(np.float64)},
            "extra": tensors | {f"{name}_more": tensors[name]},
        }
        for damage, changed in damaged.items():
            folder = write(tmp_path / f"{suffix} {damage}", changed, table)
            message = assert_refused(folder, tmp_path / "out")
            assert _STEM in message, (suffix, damage)


@pytest.mark.parametrize("kind", _FOLDERS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scales_that_are_not_finite(kind: str, value: float, tmp_path: Path) -> None:
    tensors, table = _FOLDERS[kind]()
    for suffix in suffixes(tensors):
        array = tensors[f"{_STEM}.{suffix}"]
        if array.dtype not in (np.float16, ml_dtypes.bfloat16):
            continue
        before, array.flat[0] = array.flat[0], value
        folder = write(tmp_path / suffix, tensors, table)
        assert "not finite" in assert_refused(folder, tmp_path / "out")
        array.flat[0] = before


@pytest.mark.parametrize("kind", _FOLDERS)
def test_scales_of_zero_are_weights_of_zero(kind: str, tmp_path: Path) -> None:
    tensors, table = _FOLDERS[kind]()
    for suffix in ("scales", "weight_scale", "qzeros"):
        array = tensors.get(f"{_STEM}.{suffix}", np.zeros(0))
        if array.dtype in (np.float16, ml_dtypes.bfloat16):
            array[:] = 0
    assert convert(write(tmp_path / "zero", tensors, table), tmp_path / "out").lossless
    assert not load_weight(tmp_path / "out").any()


def load_weight(output: Path) -> npt.NDArray[np.float32]:
    with Checkpoint.open(output) as checkpoint:
        return dequantize(checkpoint.linear(_STEM.removeprefix("model.")))


@pytest.mark.parametrize("kind", _FOLDERS)
def test_a_truncated_file(kind: str, tmp_path: Path) -> None:
    tensors, table = _FOLDERS[kind]()
    folder = write(tmp_path / "cut", tensors, table)
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    for size in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert "model.safetensors" in assert_refused(folder, tmp_path / "out")


@pytest.mark.parametrize("kind", _FOLDERS)
def test_a_declaration_without_quantized_tensors(kind: str, tmp_path: Path) -> None:
    """And the reverse: quantized tensors that nobody declares."""
    tensors, table = _FOLDERS[kind]()
    dense = {f"model.{n}.weight": w.astype(np.float16) for n, w in _MODEL.weights().items()}
    message = assert_refused(write(tmp_path / "dense", dense, table), tmp_path / "out")
    assert "but the tensors are all dense" in message
    folder = write_folder(tmp_path / "bare", _MODEL, tensors)
    assert "no configuration says" in assert_refused(folder, tmp_path / "out")
    other = {
        "quant_method": "awq" if "weight_packed" in " ".join(tensors) else "compressed-tensors"
    }
    message = assert_refused(write(tmp_path / "other", tensors, table | other), tmp_path / "out")
    assert "says" in message
