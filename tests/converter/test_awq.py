"""AWQ: AutoAWQ's own packers, every layout and group size, and the labels that lie."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from app.converter.sources.base import Source, SourceLinear
from app.converter.sources.detect import open_source
from app.core.errors import InvalidSourceError, UnsupportedError
from tests.awq_factory import awq_tensors
from tests.converter.test_dense_source import hf_config, load, write_config, write_folder
from tests.gguf_factory import TinyModel
from tests.quantized_folders import check_rows

_FIXTURES = Path(__file__).parents[1] / "fixtures" / "awq"
_MODEL = TinyModel("llama", hidden=128, heads=4, head_dim=32, inner=192, tied=True)


def quantization(group_size: int = 32, **changes: Any) -> dict[str, Any]:
    table = {"quant_method": "awq", "bits": 4, "group_size": group_size, "zero_point": True}
    return table | {"version": "gemm"} | changes


def quantized_linears(source: Source) -> dict[str, SourceLinear]:
    linears = (linear for part in source.parts() for linear in part.linears)
    return {f"model.{linear.name}": linear for linear in linears if linear.is_quantized}


def write_awq(folder: Path, tensors: Any, **changes: Any) -> Path:
    return write_folder(folder, _MODEL, tensors, quantization_config=quantization(**changes))


def digest(weight: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(weight).tobytes()).hexdigest()


@pytest.mark.parametrize("name", sorted(path.name for path in _FIXTURES.iterdir()))
def test_what_autoawq_packed_decodes_to_its_bits(name: str, tmp_path: Path) -> None:
    expected = json.loads((_FIXTURES / name / "expected.json").read_text())
    linears = quantized_linears(open_source(_FIXTURES / name))
    assert linears.keys() == expected.keys()
    for stem, digests in expected.items():
        weight = dequantize(linears[stem].load_native())
        assert digest(weight) == digests["float32"], stem
        assert digest(linears[stem].load_dense()) == digests["float32"], stem
        check_rows(linears[stem])
        if "float16" in digests:  # what AutoAWQ computes: the same, rounded once more
            assert digest(weight.astype(np.float16)) == digests["float16"], stem
    report = convert(_FIXTURES / name, tmp_path / "out")
    assert (report.lossless, report.format, report.num_exact) == (True, "awq", 7)


@pytest.mark.parametrize("layout", ["gemm", "gemv", "gemv_fast"])
@pytest.mark.parametrize("group_size", [32, 64, -1])
def test_layouts_and_groups_are_exact(layout: str, group_size: int, tmp_path: Path) -> None:
    tensors, grids = awq_tensors(_MODEL, layout, group_size)
    folder = write_awq(tmp_path / "awq", tensors, group_size=group_size, version=layout)
    report = convert(folder, tmp_path / "out")
    assert report.lossless
    assert report.num_exact == len(grids)
    found = load(tmp_path / "out")
    linears = quantized_linears(open_source(folder))
    for stem, grid in grids.items():
        wanted = grid.shifted_weight() if layout == "gemv_fast" else grid.weight()
        np.testing.assert_array_equal(found[f"{stem}.weight"], wanted, err_msg=stem)
        np.testing.assert_array_equal(linears[stem].load_dense(), wanted, err_msg=stem)
        check_rows(linears[stem])


def test_a_zero_point_of_zero_stays_zero(tmp_path: Path) -> None:
    tensors, grids = awq_tensors(_MODEL, "gemm", 32)
    stem = "model.layers.0.mlp.up_proj"
    tensors[f"{stem}.qzeros"][:] = 0
    linear = quantized_linears(open_source(write_awq(tmp_path / "awq", tensors)))[stem]
    wanted = grids[stem]._replace(zeros=np.zeros_like(grids[stem].zeros)).weight()
    np.testing.assert_array_equal(dequantize(linear.load_native()), wanted)


def test_a_group_that_is_no_native_one_is_several(tmp_path: Path) -> None:
    tensors, grids = awq_tensors(TinyModel("llama", hidden=96, head_dim=24, tied=True), "gemm", 48)
    model = TinyModel("llama", hidden=96, head_dim=24, tied=True)
    folder = write_folder(
        tmp_path / "awq", model, tensors, quantization_config=quantization(group_size=48)
    )
    for stem, linear in quantized_linears(open_source(folder)).items():
        assert linear.native is not None
        assert linear.native.group_size == 16
        np.testing.assert_array_equal(dequantize(linear.load_native()), grids[stem].weight())


@pytest.mark.parametrize(
    ("layout", "changes"),
    [
        ("gemm", {"version": "GEMM"}),
        ("gemm", {"version": "exllama"}),
        ("gemm", {"version": "exllamav2"}),
        ("gemm", {"version": "ipex"}),
        ("gemm", {"version": None}),
        ("gemv_fast", {"version": "gemv", "backend": "llm-awq"}),
    ],
)
def test_labels_that_name_a_runtime(layout: str, changes: dict[str, Any], tmp_path: Path) -> None:
    tensors, grids = awq_tensors(_MODEL, layout, 32)
    source = open_source(write_awq(tmp_path / "awq", tensors, **changes))
    assert len(quantized_linears(source)) == len(grids)


@pytest.mark.parametrize(
    ("changes", "kind", "reason"),
    [
        ({"version": "marlin"}, UnsupportedError, "layout marlin is not supported"),
        ({"bits": 3}, UnsupportedError, "AWQ with 3 bits"),
        ({"group_size": "x"}, InvalidSourceError, "has the group size 'x'"),
        ({"version": "gemv"}, InvalidSourceError, "says version gemv, but .* layout gemm"),
        ({"group_size": 64}, InvalidSourceError, "no AWQ layout with groups of 64"),
    ],
)
def test_declarations_that_are_refused(
    changes: dict[str, Any], kind: type[Exception], reason: str, tmp_path: Path
) -> None:
    tensors, _ = awq_tensors(_MODEL, "gemm", 32)
    with pytest.raises(kind, match=reason):
        open_source(write_awq(tmp_path / "awq", tensors, **changes))


def test_shapes_of_gptq_are_named(tmp_path: Path) -> None:
    tensors, _ = awq_tensors(_MODEL, "gemm", 32)
    for name, array in tensors.items():
        if name.endswith(".qweight"):
            rows, words = array.shape
            tensors[name] = np.zeros((rows // 8, words * 8), np.int32)
    with pytest.raises(InvalidSourceError, match="They are those of GPTQ"):
        open_source(write_awq(tmp_path / "awq", tensors))


def test_square_layers_follow_the_others(tmp_path: Path) -> None:
    """Eight groups of a square gemv layer have the shapes of gemm; the other layers have not."""
    tensors, grids = awq_tensors(_MODEL, "gemv", 32)
    shapes = {name: tensors[f"model.layers.0.{name}.qweight"].shape for name in (
        "self_attn.q_proj", "mlp.up_proj")}  # fmt: skip
    assert shapes["self_attn.q_proj"] == (128, 16)
    source = open_source(write_awq(tmp_path / "awq", tensors, version="gemv"))
    stem = "model.layers.0.self_attn.q_proj"
    weight = dequantize(quantized_linears(source)[stem].load_native())
    np.testing.assert_array_equal(weight, grids[stem].weight())


def test_the_old_sidecar_declares_too(tmp_path: Path) -> None:
    tensors, _ = awq_tensors(_MODEL, "gemm", 32)
    folder = write_awq(tmp_path / "awq", tensors)
    write_config(folder, hf_config(_MODEL))
    sidecar = {"zero_point": True, "q_group_size": 32, "w_bit": 4, "version": "GEMM"}
    (folder / "quant_config.json").write_text(json.dumps(sidecar))
    assert open_source(folder).format == "awq"


def test_modules_left_unconverted_stay_dense(tmp_path: Path) -> None:
    tensors, grids = awq_tensors(_MODEL, "gemm", 32)
    stem = "model.layers.1.mlp.down_proj"
    for name in ("qweight", "qzeros", "scales"):
        del tensors[f"{stem}.{name}"]
    tensors[f"{stem}.weight"] = grids[stem].weight().astype(np.float16)
    folder = write_awq(tmp_path / "awq", tensors, modules_to_not_convert=["down_proj"])
    report = convert(folder, tmp_path / "out")
    assert report.lossless
    assert report.num_exact == len(grids) - 1
    found = load(tmp_path / "out")[f"{stem}.weight"]
    np.testing.assert_array_equal(found, tensors[f"{stem}.weight"].astype(np.float32))
