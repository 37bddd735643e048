"""AutoRound folders: routed by packing_format, overridden by extra_config, read as the route is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.converter.sources.detect import open_source
from app.core.errors import InvalidSourceError, UnsupportedError
from tests.converter.gptq_encoder import pack_stream, random_case
from tests.converter.gptq_folder import GptqFolder, create_folder
from tests.converter.test_gptq import assert_same_bits, check_exact, quantized

LESS_ONE = ("auto_round:auto_gptq", "auto_round:gptq:exllamav2", "gptq:exllamav2")
AS_STORED = ("auto_round", "auto_round:gptqmodel", "auto_round:exllamav2", None)
ARRAYS = ("qweight", "qzeros", "scales", "g_idx")


def autoround_folder(packing: str | None, **how: Any) -> GptqFolder:
    table = {"quant_method": "auto-round", "packing_format": packing, **how.pop("table", {})}
    return create_folder(table=table, with_g_idx=False, **how)


@pytest.mark.parametrize("sym", [True, False], ids=["sym", "asym"])
@pytest.mark.parametrize("packing", LESS_ONE + AS_STORED)
def test_the_packing_format_says_how_zero_points_are_stored(
    packing: str | None, sym: bool, tmp_path: Path
) -> None:
    folder = autoround_folder(packing, sym=sym, less_one=packing in LESS_ONE)
    source = check_exact(folder, tmp_path / "hf")
    assert (source.format, source.notes) == ("auto-round", ())
    if not sym:
        folder = autoround_folder(packing, sym=sym, less_one=packing not in LESS_ONE)
        stem, linear = next(iter(quantized(open_source(folder.write(tmp_path / "other"))).items()))
        assert (linear.load_dense() != folder.cases[stem].weight).any()


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("less_one", [True, False], ids=["auto_gptq", "gptqmodel"])
def test_every_width_is_one_bitstream(bits: int, less_one: bool, tmp_path: Path) -> None:
    packing = "auto_round:auto_gptq" if less_one else "auto_round:gptqmodel"
    folder = autoround_folder(packing, bits=bits, less_one=less_one)
    assert check_exact(folder, tmp_path / "hf").notes == ()


def test_what_it_exports_as_gptq_is_no_plane_either(tmp_path: Path) -> None:
    """GPTQModel stores 5 bits in planes; who wrote the folder decides."""
    folder = create_folder(bits=5, sym=False, table={"provider": "auto-round"})
    assert check_exact(folder, tmp_path / "hf").format == "gptq"


def test_old_names(tmp_path: Path) -> None:
    table = {"quant_method": "intel/auto-round", "backend": "auto_round:gptq:marlin"}
    folder = create_folder(table=table, with_g_idx=False)
    assert check_exact(folder, tmp_path / "hf").format == "auto-round"


def test_extra_config(tmp_path: Path) -> None:
    """Full names before regular expressions, found anywhere in a name; 16 bits are dense."""
    gate = "model.layers.0.mlp.gate_proj"
    folder = autoround_folder(
        "auto_round:auto_gptq",
        table={
            "extra_config": {
                r"\.mlp\.(up|gate)_proj$": {"bits": 8, "group_size": 16, "data_type": None},
                "self_attn.v": {"bits": 16, "data_type": "fp"},
                gate: {"bits": 2, "sym": False},
            }
        },
    )
    for stem, case in list(folder.cases.items()):
        rows, columns = case.weight.shape
        if stem == gate:
            folder.cases[stem] = random_case((rows, columns), bits=2, sym=False)
        elif "up_proj" in stem or "gate_proj" in stem:
            folder.cases[stem] = random_case((rows, columns), bits=8, group_size=16)
        elif "v_proj" in stem:
            for name in ARRAYS[:3]:
                del folder.tensors[f"{stem}.{name}"]
            folder.tensors[f"{stem}.weight"] = folder.cases.pop(stem).weight
            continue
        arrays = folder.cases[stem].arrays(with_g_idx=False)
        folder.tensors |= {f"{stem}.{name}": array for name, array in arrays.items()}
    linears = quantized(check_exact(folder, tmp_path / "hf"))
    names = ("gate_proj", "up_proj", "down_proj")
    types = [linears[f"model.layers.0.mlp.{name}"].source_type for name in names]
    assert types == ["GPTQ int2 g32", "GPTQ int8 g16", "GPTQ int4 g32"]


def test_awq_in_its_gemm_layout(tmp_path: Path) -> None:
    """Codes along the output, columns 0, 2, 4, 6, 1, 3, 5, 7 of every eight; zeros as they are."""
    folder = autoround_folder("auto_round:auto_awq", sym=False)
    order = np.array([0, 2, 4, 6, 1, 3, 5, 7])
    for stem, case in folder.cases.items():
        columns = np.arange(case.codes.shape[1]).reshape(-1, 8)[:, order].reshape(-1)
        for name, codes in (("qweight", case.codes), ("qzeros", case.zeros)):
            words = pack_stream(np.ascontiguousarray(codes[:, columns]), 4)
            folder.tensors[f"{stem}.{name}"] = words.view(np.int32)
    source = open_source(folder.write(tmp_path / "hf"))
    assert source.format == "auto-round"
    for stem, linear in quantized(source).items():
        assert_same_bits(linear.load_dense(), folder.cases[stem].weight, stem)


def test_a_zero_point_that_overflowed_is_refused(tmp_path: Path) -> None:
    """intel/auto-round#2273: what 0 less one did to its neighbours cannot be known."""
    folder = autoround_folder("auto_round:auto_gptq", sym=False)
    stem = "model.layers.0.self_attn.o_proj"
    words = folder.tensors[f"{stem}.qzeros"]
    folder.tensors[f"{stem}.qzeros"] = words | np.int32(0xF00)
    with pytest.raises(InvalidSourceError, match=f"{stem} holds a zero point of 0"):
        open_source(folder.write(tmp_path / "hf"))


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"packing_format": "auto_round:fp8_static"}, "layout auto_round:fp8_static is not"),
        ({"packing_format": "auto_round:llm_compressor"}, "layout auto_round:llm_compressor is"),
        ({"packing_format": "itrex"}, "layout itrex is not supported"),
        ({"packing_format": "mlx"}, "layout mlx is not supported"),
        ({"data_type": "mx_fp"}, "data type mx_fp is not supported"),
        ({"data_type": "int_asym_dq", "super_bits": 6}, "data type int_asym_dq is not supported"),
        ({"act_bits": 8}, "AutoRound with 8-bit inputs is not supported"),
        ({"rotation_config": {"size": 32}}, "AutoRound with rotation is not supported"),
    ],
)
def test_refused_by_name(table: dict[str, Any], reason: str, tmp_path: Path) -> None:
    folder = autoround_folder("auto_round:auto_gptq", table=table)
    with pytest.raises(UnsupportedError, match=reason):
        open_source(folder.write(tmp_path / "hf"))


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({"(": {"bits": 4}}, "is not a regular expression"),
        ({"lm_head": 4}, "not one of objects"),
        ({"up_proj": {"bits": 8}}, r"mis-shaped .*up_proj\.qweight"),
        ({"up_proj": {"bits": 16}}, "says that .*up_proj is not quantized, but it is"),
    ],
)
def test_an_extra_config_that_cannot_be_meant(
    extra: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    folder = autoround_folder("auto_round:auto_gptq", table={"extra_config": extra})
    with pytest.raises(InvalidSourceError, match=reason):
        open_source(folder.write(tmp_path / "hf"))
