"""compressed-tensors where labels lie or are missing: the tensors decide, or it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from app.converter.sources.base import SourceLinear
from app.converter.sources.detect import open_source
from app.core.errors import InvalidSourceError, UnsupportedError
from tests.compressed_tensors_factory import (
    PackedLinear,
    declaration,
    packed_tensors,
    prefixed,
    random_packed,
    shuffled,
)
from tests.converter.test_awq import quantized_linears
from tests.converter.test_dense_source import load, write_folder
from tests.gguf_factory import TinyModel

_MODEL = TinyModel("llama", hidden=128, heads=4, head_dim=32, inner=192, tied=True)
_STEM = "model.layers.0.mlp.up_proj"


def simple(**options: Any) -> Any:
    return packed_tensors(_MODEL, lambda stem, shape: random_packed(shape, **options))


def write_ct(folder: Path, tensors: Any, table: dict[str, Any]) -> Path:
    return write_folder(folder, _MODEL, tensors, quantization_config=table)


def assert_decodes(linear: SourceLinear, packed: PackedLinear) -> None:
    np.testing.assert_array_equal(linear.load_dense(), packed.weight)
    np.testing.assert_array_equal(dequantize(linear.load_native()), packed.weight)


def test_dense_tensors_stay_dense_whatever_ignore_says(tmp_path: Path) -> None:
    """Ignored by parent, by a wrong prefix, by a fused name: presence decides."""
    dense = ("self_attn.q_proj", "mlp.down_proj", "self_attn.v_proj")
    tensors, linears = packed_tensors(
        _MODEL, lambda stem, shape: None if stem.endswith(dense) else random_packed(shape)
    )
    ignore = ["lm_head", "re:.*mlp.gate$", "layers.0.mlp", "x.self_attn.qkv_proj"]
    folder = write_ct(tmp_path / "ct", tensors, declaration(ignore=ignore))
    report = convert(folder, tmp_path / "out")
    assert report.lossless
    assert (report.num_exact, report.num_dense) == (len(linears), 7)
    found = load(tmp_path / "out")
    for stem, packed in linears.items():
        np.testing.assert_array_equal(found[f"{stem}.weight"], packed.weight)


def test_a_module_neither_dense_nor_packed_is_refused(tmp_path: Path) -> None:
    tensors, _ = simple()
    for name in ("weight_packed", "weight_scale", "weight_shape"):
        del tensors[f"{_STEM}.{name}"]
    with pytest.raises(InvalidSourceError, match=r"missing model\.layers\.0\.mlp\.up_proj\.weight"):
        open_source(write_ct(tmp_path / "ct", tensors, declaration()))


def test_zero_points_of_old_releases(tmp_path: Path) -> None:
    tensors, linears = simple(symmetric=False)
    tensors |= prefixed(_STEM, linears[_STEM].tensors(zeros_as_int8=True))
    source = open_source(write_ct(tmp_path / "ct", tensors, declaration(symmetric=False)))
    assert_decodes(quantized_linears(source)[_STEM], linears[_STEM])
    del tensors[f"{_STEM}.weight_zero_point"]
    with pytest.raises(InvalidSourceError, match="dropped its zero points"):
        open_source(write_ct(tmp_path / "none", tensors, declaration(symmetric=False)))


def test_zero_points_of_symmetric_grids(tmp_path: Path) -> None:
    tensors, linears = simple()
    zeros = np.zeros(linears[_STEM].scales.shape, np.int8)
    tensors[f"{_STEM}.weight_zero_point"] = zeros
    source = open_source(write_ct(tmp_path / "zero", tensors, declaration()))
    assert_decodes(quantized_linears(source)[_STEM], linears[_STEM])
    tensors[f"{_STEM}.weight_zero_point"] = zeros + np.int8(1)
    with pytest.raises(InvalidSourceError, match="symmetric, but its zero points are not all 0"):
        open_source(write_ct(tmp_path / "one", tensors, declaration()))


@pytest.mark.parametrize(("bits", "symmetric"), [(4, True), (4, False), (3, True), (8, False)])
def test_columns_out_of_order(bits: int, symmetric: bool, tmp_path: Path) -> None:
    tensors, linears = packed_tensors(
        _MODEL,
        lambda stem, shape: shuffled(random_packed(shape, bits, symmetric=symmetric)),
    )
    for stem, packed in linears.items():
        tensors[f"{stem}.weight_g_idx"] = packed.g_idx.astype(np.int32)
    table = declaration(bits, symmetric=symmetric, weights={"actorder": "group"})
    for stem, linear in quantized_linears(
        open_source(write_ct(tmp_path / "ct", tensors, table))
    ).items():
        assert linear.load_native().perm is not None
        assert_decodes(linear, linears[stem])
    del tensors[f"{_STEM}.weight_g_idx"]
    with pytest.raises(InvalidSourceError, match="ordered by activation, but has no weight_g_idx"):
        open_source(write_ct(tmp_path / "none", tensors, table))


def test_orders_that_are_none(tmp_path: Path) -> None:
    tensors, linears = simple()
    columns = linears[_STEM].codes.shape[1]
    for name, g_idx in {"never": np.full(columns, -1), "in order": linears[_STEM].g_idx}.items():
        tensors[f"{_STEM}.weight_g_idx"] = g_idx.astype(np.int32)
        table = declaration(weights={"actorder": "weight"})
        linear = quantized_linears(open_source(write_ct(tmp_path / name, tensors, table)))[_STEM]
        assert linear.load_native().perm is None
        assert_decodes(linear, linears[_STEM])
    tensors[f"{_STEM}.weight_g_idx"] = np.zeros(columns, np.int32)
    with pytest.raises(InvalidSourceError, match="does not put 32 columns into every group"):
        open_source(write_ct(tmp_path / "wrong", tensors, declaration()))


@pytest.mark.parametrize("bits", [3, 5, 6, 7])
@pytest.mark.parametrize("padded", [True, False])
def test_both_packings_of_odd_widths(bits: int, padded: bool, tmp_path: Path) -> None:
    """The width of the words decides, not the version."""
    tensors, linears = simple(bits=bits, symmetric=False)
    for stem, packed in linears.items():
        tensors |= prefixed(stem, packed.tensors(padded=padded))
    version = {"version": "0.20.1" if padded else "0.9.0"}
    folder = write_ct(tmp_path / "ct", tensors, declaration(bits, symmetric=False, **version))
    for stem, linear in quantized_linears(open_source(folder)).items():
        assert_decodes(linear, linears[stem])


def test_where_both_packings_are_as_wide_the_version_decides(tmp_path: Path) -> None:
    model = TinyModel("llama", hidden=40, heads=4, head_dim=10, inner=40, tied=True)
    for version, padded in (("0.17.1", True), ("0.18.0", False)):
        tensors, linears = packed_tensors(model, lambda _, shape: random_packed(shape, 3, 40))
        for stem, packed in linears.items():
            tensors |= prefixed(stem, packed.tensors(padded=padded))
        table = declaration(3, 40, version=version)
        folder = write_folder(tmp_path / version, model, tensors, quantization_config=table)
        for stem, linear in quantized_linears(open_source(folder)).items():
            assert_decodes(linear, linears[stem])
    del table["version"]
    folder = write_folder(tmp_path / "none", model, tensors, quantization_config=table)
    with pytest.raises(InvalidSourceError, match="no version says which it is"):
        open_source(folder)


def test_what_is_not_carried_over_is_noted(tmp_path: Path) -> None:
    tensors, _ = simple()
    tensors[f"{_STEM}.input_scale"] = np.ones(1, np.float32)
    tensors["model.layers.0.self_attn.k_scale"] = np.ones(1, np.float32)
    table = declaration(
        kv_cache_scheme={"num_bits": 8}, group={"input_activations": {"num_bits": 8}}
    )
    nested = {"quant_method": "compressed-tensors", "quantization_config": table}
    notes = " ".join(open_source(write_ct(tmp_path / "ct", tensors, nested)).notes)
    assert "quantizes activations too" in notes
    assert "KV cache too" in notes


@pytest.mark.parametrize(
    ("table", "kind", "reason"),
    [
        (declaration(format="marlin-24"), UnsupportedError, "format marlin-24 is not supported"),
        (
            declaration(sparsity_config={"format": "sparse-24-bitmask"}),
            UnsupportedError,
            "format sparse-24-bitmask is not",
        ),
        (declaration(transform_config={"r1": {}}), UnsupportedError, "rotated at run time"),
        (declaration(weights={"strategy": "token"}), UnsupportedError, "strategy token is not"),
        (declaration(weights={"strategy": "block", "block_structure": "1x"}), InvalidSourceError,
         "block_structure '1x'"),
        (declaration(weights={"strategy": "block", "block_structure": [8, 8]}), UnsupportedError,
         "integers with the strategy block"),
        (declaration(format="int-quantized"), InvalidSourceError,
         "says int-quantized int4, but .*weight_packed is int32"),
        (declaration(weights={"type": "float"}), InvalidSourceError, "float4, but .* is int32"),
        (declaration(bits=8), InvalidSourceError, r"weight_packed \[192, 16\] instead of"),
        (declaration(group_size=64), InvalidSourceError, r"weight_scale \[192, 4\] instead of"),
        (declaration(group_size=96), InvalidSourceError, "not whole groups of 96"),
        (declaration(bits=9), InvalidSourceError, "has 9 bits in groups of 32"),
        (declaration(config_groups={}), InvalidSourceError, "has no config_groups"),
        (declaration(group={"weights": None}), InvalidSourceError, "a group without weights"),
        (declaration(group={"targets": ["re:("]}), InvalidSourceError, "pattern '\\(' is none"),
    ],
)  # fmt: skip
def test_declarations_that_are_refused(
    table: dict[str, Any], kind: type[Exception], reason: str, tmp_path: Path
) -> None:
    tensors, _ = simple()
    with pytest.raises(kind, match=reason):
        open_source(write_ct(tmp_path / "ct", tensors, table))


def test_targets_by_name_beat_patterns_and_classes(tmp_path: Path) -> None:
    def create(stem: str, shape: tuple[int, int]) -> PackedLinear:
        return random_packed(shape, 8 if stem == _STEM else 3 if "down" in stem else 4)

    tensors, linears = packed_tensors(_MODEL, create)
    groups = {
        f"group_{bits}": {
            "targets": targets,
            "weights": declaration(bits)["config_groups"]["group_0"]["weights"],
        }
        for bits, targets in {4: ["Linear"], 3: ["re:.*down_proj"], 8: [_STEM]}.items()
    }
    table = declaration(config_groups=groups)
    found = quantized_linears(open_source(write_ct(tmp_path / "ct", tensors, table)))
    for stem, linear in found.items():
        assert_decodes(linear, linears[stem])
    del groups["group_4"]
    with pytest.raises(InvalidSourceError, match=r"targets model\.layers\.0\.\S+ by no group"):
        open_source(write_ct(tmp_path / "few", tensors, table))


def test_packed_embeddings_and_lm_head(tmp_path: Path) -> None:
    """Embeddings are a class of their own; lm_head is a Linear like others."""
    model = TinyModel("llama", hidden=128, heads=4, head_dim=32, inner=192)
    tensors, linears = packed_tensors(model, lambda stem, shape: random_packed(shape))
    for stem, bits in {"model.embed_tokens": 8, "lm_head": 4}.items():
        del tensors[f"{stem}.weight"]
        linears[stem] = random_packed((model.vocab, model.hidden), bits)
        tensors |= prefixed(stem, linears[stem].tensors())
    table = declaration()
    weights = declaration(8)["config_groups"]["group_0"]["weights"]
    table["config_groups"]["group_1"] = {"targets": ["Embedding"], "weights": weights}
    folder = write_folder(tmp_path / "ct", model, tensors, quantization_config=table)
    linears["model.lm_head"] = linears.pop("lm_head")
    found = quantized_linears(open_source(folder))
    assert found.keys() == linears.keys()
    for stem, linear in found.items():
        assert_decodes(linear, linears[stem])
