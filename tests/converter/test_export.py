"""Exported checkpoints, read back by our importer and by compressed-tensors: equal bits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.checkpoint.schemes import Linear, Scheme
from app.converter.export import export
from app.converter.export_plan import ExportFormat
from app.converter.sources.detect import open_source
from app.core.errors import (
    JobCancelledError,
    OutputExistsError,
    UnsupportedError,
    UsageError,
)
from app.core.jobs import CancelToken
from tests.gguf_factory import TinyModel
from tests.native_factory import random_linear, write_native_model

Weights = dict[str, npt.NDArray[np.float32]]
CT, GPTQ = ExportFormat.COMPRESSED_TENSORS, ExportFormat.GPTQ
_MODEL = TinyModel("llama", hidden=128, heads=4, head_dim=32, inner=256, tied=True)


def read_weights(folder: Path) -> Weights:
    with Checkpoint.open(folder) as checkpoint:
        names = checkpoint.manifest.linears
        return {name: dequantize(checkpoint.linear(name)) for name in names}


def reimport(exported: Path) -> Weights:
    """By both decoders of our importer, which share nothing."""
    found = {}
    for linear in (linear for part in open_source(exported).parts() for linear in part.linears):
        found[linear.name] = linear.load_dense()
        if linear.is_quantized:
            native = dequantize(linear.load_native())
            np.testing.assert_array_equal(found[linear.name], native)
    return found


def assert_equal_bits(found: Weights, wanted: Weights) -> None:
    assert found.keys() == wanted.keys()
    for name, weight in wanted.items():
        np.testing.assert_array_equal(
            found[name].view(np.uint32), weight.view(np.uint32), err_msg=name
        )


def read_declaration(folder: Path) -> dict[str, Any]:
    config = json.loads((folder / "config.json").read_text())
    return dict(config["quantization_config"])


def decompress(folder: Path) -> Weights:
    """What the package compressed-tensors makes of every packed linear, with float32 scales."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationConfig
    from compressed_tensors.utils.match import match_name
    from torch import from_numpy

    config = QuantizationConfig.model_validate(read_declaration(folder))
    compressor = BaseCompressor.get_value_from_registry("pack-quantized")
    stored = {
        name: a for file in folder.glob("*.safetensors") for name, a in load_file(file).items()
    }
    found = {}
    for name in stored:
        if not name.endswith(".weight_packed"):
            continue
        stem = name.removesuffix(".weight_packed")
        schemes = list(config.config_groups.values())
        named = [s for s in schemes if any(match_name(stem, target) for target in s.targets)]
        scheme = named[0] if named else next(s for s in schemes if s.targets == ["Linear"])
        assert not any(match_name(stem, ignored) for ignored in config.ignore)
        arrays = {
            n.removeprefix(f"{stem}."): a for n, a in stored.items() if n.startswith(f"{stem}.")
        }
        arrays["weight_scale"] = arrays["weight_scale"].astype(np.float32)
        tensors = {suffix: from_numpy(array) for suffix, array in arrays.items()}
        weight = compressor.decompress(tensors, scheme)["weight"]
        found[stem.removeprefix("model.")] = weight.numpy()
    return found


@pytest.mark.parametrize("format", [CT, GPTQ])
@pytest.mark.parametrize("scheme", [Scheme.SYM, Scheme.ZERO])
@pytest.mark.parametrize(("bits", "group_size"), [(4, 32), (4, 128), (4, -1), (8, 64)])
def test_what_is_exported_decodes_to_the_same_bits(
    format: ExportFormat, scheme: Scheme, bits: int, group_size: int, tmp_path: Path
) -> None:
    def create(name: str, shape: tuple[int, int]) -> Linear:
        return random_linear(shape, bits, group_size, scheme, seed=len(name))

    native = write_native_model(tmp_path / "native", _MODEL, create)
    report = export(native, tmp_path / "out", format)
    assert (report.num_quantized, report.num_dense, report.notes) == (14, 1, ())
    wanted = read_weights(native)
    assert_equal_bits(reimport(tmp_path / "out"), wanted)
    if format is CT:
        del wanted["embed_tokens"]
        assert_equal_bits(decompress(tmp_path / "out"), wanted)


def test_three_bits_and_columns_out_of_order_go_to_gptq_alone(tmp_path: Path) -> None:
    native = write_native_model(
        tmp_path / "native", _MODEL, lambda name, shape: random_linear(shape, 3, 64, perm=True)
    )
    with pytest.raises(UnsupportedError, match="load no 3 bits from compressed-tensors"):
        export(native, tmp_path / "out", CT)
    assert not (tmp_path / "out").exists()
    export(native, tmp_path / "out", GPTQ)
    assert read_declaration(tmp_path / "out")["desc_act"] is True
    assert_equal_bits(reimport(tmp_path / "out"), read_weights(native))
    ordered = write_native_model(
        tmp_path / "4", _MODEL, lambda name, shape: random_linear(shape, perm=True)
    )
    with pytest.raises(UnsupportedError, match="no columns out of order; gptq does"):
        export(ordered, tmp_path / "out4", CT)


@pytest.mark.parametrize("format", [CT, GPTQ])
def test_fused_linears_share_the_smallest_grid_that_holds_all(
    format: ExportFormat, tmp_path: Path
) -> None:
    kinds = {
        "q_proj": (4, 128, Scheme.SYM),
        "k_proj": (8, 64, Scheme.SYM),
        "v_proj": (4, -1, Scheme.ZERO),
    }

    def create(name: str, shape: tuple[int, int]) -> Linear:
        return random_linear(shape, *kinds.get(name.rpartition(".")[2], (4, 32, Scheme.SYM)))

    native = write_native_model(tmp_path / "native", _MODEL, create)
    assert export(native, tmp_path / "out", format).notes == ()
    wanted = read_weights(native)
    assert_equal_bits(reimport(tmp_path / "out"), wanted)
    linears = {li.name: li for part in open_source(tmp_path / "out").parts() for li in part.linears}
    for name in ("q_proj", "k_proj", "v_proj"):
        quant = linears[f"layers.1.self_attn.{name}"].native
        assert quant is not None
        assert (quant.bits, quant.group_size) == (8, 64)
    if format is CT:
        del wanted["embed_tokens"]
        assert_equal_bits(decompress(tmp_path / "out"), wanted)


@pytest.mark.parametrize("format", [CT, GPTQ])
def test_what_a_format_does_not_hold_is_dense_with_its_fused_set(
    format: ExportFormat, tmp_path: Path
) -> None:
    def create(name: str, shape: tuple[int, int]) -> Linear:
        is_affine = name == "layers.0.mlp.gate_proj"
        return random_linear(shape, scheme=Scheme.AFFINE if is_affine else Scheme.SYM)

    native = write_native_model(tmp_path / "native", _MODEL, create)
    report = export(native, tmp_path / "out", format)
    assert (report.num_quantized, report.num_dense) == (12, 3)
    assert any("1 quantized linear is written as float16: no grid" in n for n in report.notes)
    assert any("engines fuse them with such" in note for note in report.notes)
    found, wanted = reimport(tmp_path / "out"), read_weights(native)
    for name in ("layers.0.mlp.gate_proj", "layers.0.mlp.up_proj"):
        rounded = wanted.pop(name).astype(np.float16).astype(np.float32)
        np.testing.assert_array_equal(found.pop(name), rounded)
    assert_equal_bits(found, wanted)


def test_nothing_to_export_is_refused_with_the_reason(tmp_path: Path) -> None:
    native = write_native_model(
        tmp_path / "native", _MODEL, lambda name, shape: random_linear(shape, scheme=Scheme.AFFINE)
    )
    with pytest.raises(UnsupportedError, match=r"affine with fp16 scales; convert it with --grid"):
        export(native, tmp_path / "out", GPTQ)
    dense = write_native_model(
        tmp_path / "dense",
        _MODEL,
        lambda name, shape: Linear(shape, weight=np.ones(shape, np.float16)),
    )
    with pytest.raises(UnsupportedError, match="none of its layers is quantized"):
        export(dense, tmp_path / "out", CT)
    assert {path.name for path in tmp_path.iterdir()} == {"native", "dense"}


def test_a_zero_point_of_zero_needs_gptqs_second_convention(tmp_path: Path) -> None:
    native = write_native_model(
        tmp_path / "native",
        _MODEL,
        lambda name, shape: random_linear(shape, scheme=Scheme.ZERO, lowest_zero=0),
    )
    export(native, tmp_path / "out", GPTQ)
    assert read_declaration(tmp_path / "out")["checkpoint_format"] == "gptq_v2"
    assert_equal_bits(reimport(tmp_path / "out"), read_weights(native))


def test_the_dtype_is_one_that_holds_every_scale(tmp_path: Path) -> None:
    def create(name: str, shape: tuple[int, int]) -> Linear:
        linear = random_linear(shape, scales="fp32")
        assert linear.scales is not None
        linear.scales.view(np.uint32)[:] &= np.uint32(0xFFFF0000)  # bfloat16 values
        return linear

    native = write_native_model(tmp_path / "native", _MODEL, create, torch_dtype="bfloat16")
    export(native, tmp_path / "out", CT)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["torch_dtype"] == "bfloat16"
    assert_equal_bits(reimport(tmp_path / "out"), read_weights(native))
    odd = write_native_model(
        tmp_path / "odd", _MODEL, lambda name, shape: random_linear(shape, scales="fp32")
    )
    with pytest.raises(UnsupportedError, match="float16 does not hold all scales"):
        export(odd, tmp_path / "out2", CT)


def test_an_output_that_is_there_is_left_alone(tmp_path: Path) -> None:
    native = write_native_model(
        tmp_path / "native", _MODEL, lambda name, shape: random_linear(shape)
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(OutputExistsError, match="choose a new folder"):
        export(native, tmp_path / "out", CT)
    (tmp_path / "new.partial").mkdir()
    with pytest.raises(UsageError, match=r"new\.partial is in the way"):
        export(native, tmp_path / "new", CT)
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(JobCancelledError):
        export(native, tmp_path / "other", CT, cancel=cancel)
    assert {path.name for path in tmp_path.iterdir()} == {"native", "out", "new.partial"}
