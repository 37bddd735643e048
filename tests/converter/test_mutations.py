"""Every folder format, damaged in six ways: refused in one sentence, or exactly right.

A flipped label, a wrong shape, a missing tensor, a scale that is NaN, one that is zero, a truncated
file. (GGUF: test_damaged_gguf.py, tests/spec/test_gguf_header.py, test_gguf_blocks.py; .bin files:
test_pickle_files.py.)
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file, save_file

from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.converter.sources.small_floats import E4M3
from app.core.errors import AppError
from benchmarks.folder_encoders import ENCODERS
from tests.converter import test_exl2, test_fp4, test_fp8
from tests.converter.test_dense_source import hf_config, hf_tensors
from tests.converter.test_folder_encoders import MODEL, encode
from tests.gguf_factory import TinyModel
from tests.quantized_folders import FIXTURES, Arrays

_LINEAR = "model.layers.0.mlp.down_proj"
_FLOATS = (np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), E4M3)
_SCALES = (
    *("scale", "scales", "absmax", "SCB", "q_scale_max"),
    *("weight_scale", "weight_scale_2", "weight_scale_inv", "weight_global_scale"),
)


@dataclass
class Case:
    """A folder before it is written."""

    tensors: Arrays
    config: dict[str, Any]
    damaged: str = field(default=_LINEAR)

    def write(self, folder: Path) -> Path:
        folder.mkdir()
        save_file(self.tensors, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(self.config), encoding="utf-8")
        (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
        return folder

    @property
    def names(self) -> list[str]:
        """The arrays of the linear that gets damaged."""
        return [name for name in self.tensors if name.startswith(self.damaged)]


def from_fixture(*names: str) -> Case:
    folder = FIXTURES.joinpath(*names)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Case(load_file(folder / "model.safetensors"), config)


def from_encoder(name: str) -> Case:
    tensors, _ = encode(ENCODERS[name])
    return Case(tensors, hf_config(MODEL) | dict(ENCODERS[name].config))


def from_tensors(tensors: Any, model: TinyModel, table: dict[str, Any] | None) -> Case:
    declared = {"quantization_config": table} if table else {}
    return Case(dict(tensors), hf_config(model) | declared)


def exl2() -> Case:
    _, tensors = test_exl2.create(test_exl2.MIXED)
    return from_tensors(tensors, test_exl2.MODEL, test_exl2.TABLE)


def fp8(table: dict[str, Any], suffix: str, shape: str) -> Case:
    tensors = test_fp8.quantized_tensors(None, suffix, shape)
    return from_tensors(tensors, test_fp8.MODEL, table)


_CASES: dict[str, Callable[[], Case]] = {
    "dense": lambda: from_tensors(hf_tensors(MODEL, np.float16), MODEL, None),
    "gptq asym act-order": lambda: from_fixture("gptq", "int4_asym_act"),
    "gptq 3 bits": lambda: from_fixture("gptq", "int3_sym"),
    "awq gemv": lambda: from_fixture("awq", "gemv_g64"),
    "awq gemv_fast": lambda: from_fixture("awq", "gemv_fast_g128"),
    "awq llm-awq": lambda: from_fixture("awq", "llm_awq_g64"),
    "compressed-tensors": lambda: from_fixture("compressed_tensors", "w4_g128"),
    "compressed-tensors asym": lambda: from_fixture("compressed_tensors", "w4_g32_asym"),
    "bitsandbytes int8": lambda: from_fixture("bitsandbytes", "int8"),
    "bitsandbytes nf4 double": lambda: from_fixture("bitsandbytes", "nf4_double"),
    "mlx mxfp4": lambda: from_fixture("mlx", "mxfp4"),
    "mlx mxfp8": lambda: from_fixture("mlx", "mxfp8"),
    "modelopt nvfp4": lambda: from_tensors(
        test_fp4.nvfp4_tensors(), test_fp4.MODEL, test_fp4.DECLARED
    ),
    "modelopt fp8": lambda: fp8(
        {"quant_method": "modelopt", "quant_algo": "FP8"}, "weight_scale", "scalar"
    ),
    "fbgemm_fp8": lambda: fp8({"quant_method": "fbgemm_fp8"}, "weight_scale", "row"),
    "exl2": exl2,
    **{name: (lambda name=name: from_encoder(name)) for name in ENCODERS},  # type: ignore[misc]
}
each_format = pytest.mark.parametrize("name", _CASES)


def refusal_of(folder: Path, output: Path) -> AppError | None:
    """What the conversion is refused with, if at all; nothing may be left behind."""
    try:
        convert(folder, output, overwrite=True)
    except AppError as error:
        return error
    shutil.rmtree(output)
    return None


def check_refusal(refusal: AppError, output: Path) -> None:
    """One sentence, and nothing left behind."""
    assert "\n" not in refusal.message
    assert refusal.message.endswith(".")
    assert not output.exists()
    assert not output.with_name(f"{output.name}.partial").exists()


def is_refused(case: Case, intact: Case, tmp_path: Path) -> bool:
    """If not, the damaged linear must decode to the bits of the intact one."""
    number = len(list(tmp_path.iterdir()))
    folder = case.write(tmp_path / f"damaged{number}")
    refusal = refusal_of(folder, tmp_path / "out")
    if refusal is not None:
        check_refusal(refusal, tmp_path / "out")
        return True
    whole = intact.write(tmp_path / f"intact{number}")
    np.testing.assert_array_equal(decoded(folder, case.damaged), decoded(whole, case.damaged))
    return False


def decoded(folder: Path, stem: str) -> npt.NDArray[np.float32]:
    linears = [linear for part in open_source(folder).parts() for linear in part.linears]
    return next(linear for linear in linears if linear.source_name.startswith(stem)).load_dense()


@each_format
def test_a_flipped_label(name: str, tmp_path: Path) -> None:
    case = _CASES[name]()
    key = "quantization" if "quantization" in case.config else "quantization_config"
    methods = {"gptq", "awq", "bitsandbytes", "hqq", "compressed-tensors", "mlx"}
    for method in methods - {case.config.get(key, {}).get("quant_method"), name.split()[0].lower()}:
        flipped = Case(case.tensors, {k: v for k, v in case.config.items() if k != key})
        flipped.config["quantization_config"] = {"quant_method": method, "bits": 4}
        assert is_refused(flipped, case, tmp_path), method


@each_format
def test_a_wrong_shape(name: str, tmp_path: Path) -> None:
    case = _CASES[name]()
    for array_name in case.names:
        array = case.tensors[array_name]
        if array.ndim == 0 or len(array) < 2:
            continue
        for wrong in (array[:-1].copy(), np.concatenate([array, array[:1]])):
            cut = Case(case.tensors | {array_name: wrong}, case.config)
            assert is_refused(cut, case, tmp_path), array_name


@each_format
def test_a_missing_tensor(name: str, tmp_path: Path) -> None:
    case = _CASES[name]()
    refused = []
    for missing in case.names:
        rest = {n: array for n, array in case.tensors.items() if n != missing}
        if is_refused(Case(rest, case.config), case, tmp_path):
            refused.append(missing.rpartition(".")[2])
    assert {"weight", "qweight", "weight_packed", "W_q", "q_weight"} & set(refused)


def float_scales(case: Case) -> list[str]:
    """The float arrays of the linear that count; of dense and FP8 ones also the weight itself."""
    arrays = ((name, case.tensors[name]) for name in case.names)
    return [n for n, a in arrays if a.dtype in _FLOATS and not n.endswith(".input_scale")]


@each_format
def test_a_scale_that_is_nan(name: str, tmp_path: Path) -> None:
    case = _CASES[name]()
    for array_name in float_scales(case):
        array = case.tensors[array_name].copy()
        array.reshape(-1)[-1:] = np.nan
        damaged = Case(case.tensors | {array_name: array}, case.config)
        assert is_refused(damaged, case, tmp_path), array_name


@each_format
def test_a_scale_that_is_zero(name: str, tmp_path: Path) -> None:
    """Zeros decode to a constant; what divides by it is refused."""
    case = _CASES[name]()
    names = [n for n in float_scales(case) if n.rpartition(".")[2] in _SCALES]
    for array_name in names:
        array = np.zeros_like(case.tensors[array_name])
        zeroed = Case(case.tensors | {array_name: array}, case.config)
        folder = zeroed.write(tmp_path / array_name)
        refusal = refusal_of(folder, tmp_path / "out")
        if refusal is not None:
            check_refusal(refusal, tmp_path / "out")
            assert "scale" in refusal.message
            continue
        weight = decoded(folder, case.damaged)
        assert np.isin(weight, biases_of(case)).all(), array_name


def biases_of(case: Case) -> npt.NDArray[np.float32]:
    """What a linear whose scales are zero may still hold, and zero."""
    names = [n for n in case.names if n.endswith((".biases", ".scaled_zeros", ".qzeros"))]
    floats = [case.tensors[n].astype(np.float32) for n in names if case.tensors[n].dtype in _FLOATS]
    return np.concatenate([np.zeros(1, np.float32), *(array.reshape(-1) for array in floats)])


@each_format
def test_a_truncated_file(name: str, tmp_path: Path) -> None:
    folder = _CASES[name]().write(tmp_path / "cut")
    whole = (folder / "model.safetensors").read_bytes()
    for size in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        (folder / "model.safetensors").write_bytes(whole[:size])
        with pytest.raises(AppError, match=r"model\.safetensors"):
            convert(folder, tmp_path / "out")
        assert not (tmp_path / "out").exists()
