"""GPTQ folders from the formulas: every width, layout and column order, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.checkpoint.reference_quant import dequantize
from app.checkpoint.schemes import ScaleDtype, Scheme
from app.converter.grids import Grid, convert_linear, plan_linear
from app.converter.pipeline import convert
from app.converter.sources.base import Source, SourceLinear
from app.converter.sources.detect import open_source
from app.converter.verify import verify_exact
from tests.converter.gptq_encoder import DTYPES, GptqCase, pack_planes, pack_stream, random_case
from tests.converter.gptq_folder import GptqFolder, create_folder, linear_stems
from tests.gguf_factory import TinyModel
from tests.quantized_folders import check_rows


def quantized(source: Source) -> dict[str, SourceLinear]:
    """The quantized linears by their name in the folder."""
    linears = [linear for part in source.parts() for linear in part.linears]
    return {
        linear.source_name.rsplit(".", 1)[0]: linear for linear in linears if linear.is_quantized
    }


def assert_same_bits(found: npt.NDArray[Any], wanted: npt.NDArray[Any], name: str) -> None:
    assert found.dtype == wanted.dtype == np.float32
    np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32), err_msg=name)


def check_exact(folder: GptqFolder, path: Path, **config: Any) -> Source:
    """Both decoders give the formula's bits for every linear; the folder's source."""
    source = open_source(folder.write(path, **config))
    linears = quantized(source)
    assert linears.keys() == folder.cases.keys()
    for stem, linear in linears.items():
        weight = folder.cases[stem].weight
        assert_same_bits(linear.load_dense(), weight, stem)
        assert_same_bits(dequantize(linear.load_native()), weight, stem)
        check_rows(linear)
        converted = verify_exact(linear, convert_linear(linear, plan_linear(linear, Grid.EXACT)))
        assert (converted.path, converted.rel_err) == ("exact", 0.0)
    return source


LAYOUTS = [(bits, False) for bits in (2, 3, 4, 8)] + [(bits, True) for bits in (3, 5, 6, 7)]


@pytest.mark.parametrize("act_order", [False, True], ids=["plain", "act-order"])
@pytest.mark.parametrize("sym", [True, False], ids=["sym", "asym"])
@pytest.mark.parametrize(("bits", "is_planar"), LAYOUTS)
def test_every_width_and_layout(
    bits: int, is_planar: bool, sym: bool, act_order: bool, tmp_path: Path
) -> None:
    folder = create_folder(
        bits=bits,
        sym=sym,
        act_order=act_order,
        is_planar=is_planar,
        less_one=not is_planar,
        table={"checkpoint_format": "gptq_p"} if is_planar else {},
    )
    source = check_exact(folder, tmp_path / "hf")
    assert source.format == "gptq"
    native = next(iter(quantized(source).values())).native
    assert native is not None
    wanted = (Scheme.SYM if sym else Scheme.ZERO, {2: 3, 3: 3, 4: 4}.get(bits, 8), 32)
    assert (native.scheme, native.bits, native.group_size) == wanted


@pytest.mark.parametrize("less_one", [True, False], ids=["v1", "v2"])
@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_both_conventions_for_asymmetric_zero_points(
    bits: int, less_one: bool, tmp_path: Path
) -> None:
    label = {"checkpoint_format": "gptq" if less_one else "gptq_v2"}
    folder = create_folder(bits=bits, sym=False, less_one=less_one, table=label)
    assert check_exact(folder, tmp_path / "hf").notes == ()


@pytest.mark.parametrize("act_order", [False, True], ids=["plain", "act-order"])
@pytest.mark.parametrize(
    ("group_size", "native"), [(-1, -1), (16, 16), (48, 16), (40, None), (64, 64), (4096, -1)]
)
def test_groups(group_size: int, native: int | None, act_order: bool, tmp_path: Path) -> None:
    """96 columns leave a short last group of 64, 48 is three native groups, 40 is none."""
    folder = create_folder(group_size=group_size, sym=False, act_order=act_order)
    source = open_source(folder.write(tmp_path / "hf"))
    down = quantized(source)["model.layers.0.mlp.down_proj"]
    assert down.shape == (64, 96)
    if native is not None:
        check_exact(folder, tmp_path / "again")
        assert down.native is not None
        assert down.native.group_size == native
        return
    assert down.native is None
    assert_same_bits(down.load_dense(), folder.cases["model.layers.0.mlp.down_proj"].weight, "")
    report = convert(tmp_path / "hf", tmp_path / "out")
    assert report.num_requant == 14
    assert 0 < report.rel_err_max < 0.01


@pytest.mark.parametrize("dtype", DTYPES)
def test_scales_of_any_float_and_sign(dtype: str, tmp_path: Path) -> None:
    """bfloat16 scales fit float16 where they are not tiny, float32 ones do not."""
    folder = create_folder()
    for stem, case in folder.cases.items():
        folder.cases[stem] = GptqCase(
            case.codes,
            case.zeros,
            (case.scales.astype(np.float32) * 1.3).astype(DTYPES[dtype]),
            case.g_idx,
        )
        assert (folder.cases[stem].scales < 0).any()
        folder.tensors[f"{stem}.scales"] = folder.cases[stem].scales
    linear = quantized(check_exact(folder, tmp_path / "hf"))["model.layers.0.mlp.up_proj"]
    stored = linear.load_native().quant
    assert stored is not None
    assert stored.scale_dtype is (ScaleDtype.FP32 if dtype == "F32" else ScaleDtype.FP16)


def test_scales_that_no_float16_holds_stay_float32(tmp_path: Path) -> None:
    folder = create_folder()
    for stem, case in folder.cases.items():
        tiny = (case.scales.astype(np.float32) * 2.0**-20).astype(DTYPES["BF16"])
        folder.cases[stem] = GptqCase(case.codes, case.zeros, tiny, case.g_idx)
        folder.tensors[f"{stem}.scales"] = tiny
    linear = quantized(check_exact(folder, tmp_path / "hf"))["model.layers.0.mlp.up_proj"]
    stored = linear.load_native().quant
    assert stored is not None
    assert stored.scale_dtype is ScaleDtype.FP32


def test_scales_of_zero_are_weights_of_zero(tmp_path: Path) -> None:
    folder = create_folder(sym=False)
    for stem, case in folder.cases.items():
        case.scales[:, ::2] = 0
        folder.tensors[f"{stem}.scales"] = case.scales
    assert check_exact(folder, tmp_path / "hf").notes == ()


def test_a_shared_order_is_shared(tmp_path: Path) -> None:
    linears = quantized(open_source(create_folder(act_order=True).write(tmp_path / "hf")))
    perms = {stem: linear.load_native().perm for stem, linear in linears.items()}
    stem = "model.layers.0.self_attn"
    for name in ("k_proj", "v_proj"):
        np.testing.assert_array_equal(perms[f"{stem}.{name}"], perms[f"{stem}.q_proj"])
    gate, up = (perms[f"model.layers.0.mlp.{name}_proj"] for name in ("gate", "up"))
    np.testing.assert_array_equal(gate, up)
    assert perms[f"{stem}.o_proj"] is not None
    assert "act-order" in linears[f"{stem}.o_proj"].source_type


@pytest.mark.parametrize("kind", ["absent", "in order", "all zero"])
def test_an_order_that_is_none(kind: str, tmp_path: Path) -> None:
    """ExLlamaV2 too takes a g_idx of zeros for absent."""
    folder = create_folder(with_g_idx=kind != "absent", table={"desc_act": True})
    if kind == "all zero":
        for stem in folder.cases:
            folder.tensors[f"{stem}.g_idx"] = np.zeros_like(folder.tensors[f"{stem}.g_idx"])
    source = check_exact(folder, tmp_path / "hf")
    assert all(linear.load_native().perm is None for linear in quantized(source).values())


def test_a_quantized_head_beside_dense_layers(tmp_path: Path) -> None:
    """Layers that nobody quantized are dense (vllm#7086, sglang#33245); the head need not be."""
    folder = create_folder(sym=False, table={"lm_head": True})
    del folder.tensors["lm_head.weight"]
    head = random_case((folder.model.vocab, folder.model.hidden), sym=False, seed=5)
    folder.cases["lm_head"] = head
    folder.tensors |= {f"lm_head.{name}": array for name, array in head.arrays().items()}
    for stem in linear_stems(folder.model)[7:]:
        for name in ("qweight", "qzeros", "scales", "g_idx"):
            del folder.tensors[f"{stem}.{name}"]
        folder.tensors[f"{stem}.weight"] = folder.cases.pop(stem).weight.astype(np.float16)
    assert "lm_head" in quantized(check_exact(folder, tmp_path / "hf"))


def test_own_biases_are_kept_and_biases_of_zeros_dropped(tmp_path: Path) -> None:
    folder = create_folder(model=TinyModel("qwen2"))
    for stem in folder.cases:
        rows = folder.cases[stem].codes.shape[1]
        folder.tensors.setdefault(f"{stem}.bias", np.zeros(rows, np.float16))
    convert(folder.write(tmp_path / "hf"), tmp_path / "out")
    linears = quantized(open_source(tmp_path / "hf"))
    for name, linear in linears.items():
        assert (linear.load_bias is not None) == (
            name.rsplit(".", 1)[1] in ("q_proj", "k_proj", "v_proj")
        )


def test_a_configuration_beside_config_json(tmp_path: Path) -> None:
    folder = create_folder()
    path = tmp_path / "hf"
    table, folder.table = folder.table, {}
    folder.write(path)
    del table["quant_method"]
    (path / "quantize_config.json").write_text(str(table).replace("'", '"').replace("True", "true"))
    assert quantized(open_source(path)).keys() == folder.cases.keys()


def test_overrides_for_single_linears(tmp_path: Path) -> None:
    """`dynamic`: the first match from the start of the name wins, with or without a sign."""
    folder = create_folder(
        table={
            "dynamic": {
                r"-:.*\.0\.mlp\.gate_proj": {},
                r"+:.*\.mlp\.": {"bits": 8, "group_size": 16},
                r"model\.layers\.1\.self_attn": {"bits": 3, "sym": False},
            }
        }
    )
    for stem, case in list(folder.cases.items()):
        shape = (case.codes.shape[1], case.codes.shape[0])
        if "mlp" in stem:
            folder.cases[stem] = random_case(shape, bits=8, group_size=16)
        elif ".1." in stem:
            folder.cases[stem] = random_case(shape, bits=3, sym=False)
        arrays = folder.cases[stem].arrays()
        folder.tensors |= {f"{stem}.{name}": array for name, array in arrays.items()}
    stem = "model.layers.0.mlp.gate_proj"
    for name in ("qweight", "qzeros", "scales", "g_idx"):
        del folder.tensors[f"{stem}.{name}"]
    folder.tensors[f"{stem}.weight"] = folder.cases.pop(stem).weight
    linears = quantized(check_exact(folder, tmp_path / "hf"))
    names = ("0.mlp.up", "0.self_attn.q", "1.self_attn.q")
    types = [linears[f"model.layers.{name}_proj"].source_type for name in names]
    assert types == ["GPTQ int8 g16", "GPTQ int4 g32", "GPTQ int3 g32"]


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("act_order", [False, True], ids=["plain", "act-order"])
def test_sizes_that_fill_no_word(bits: int, act_order: bool, tmp_path: Path) -> None:
    """36 inputs and 20 outputs: the last word of every stream is half empty."""
    model = TinyModel("llama", hidden=36, inner=20, heads=3, kv_heads=1, head_dim=12, layers=1)
    for group_size in (-1, 16):
        folder = create_folder(
            model=model, bits=bits, group_size=group_size, sym=False, act_order=act_order
        )
        assert check_exact(folder, tmp_path / f"g{group_size}").notes == ()


def test_the_words_of_straddling_codes() -> None:
    """Codes 0, 1, 2 ... mod 8 in both 3-bit layouts, checked against words made by hand."""
    codes = (np.arange(32) % 8)[None]
    number = sum(int(code) << (3 * k) for k, code in enumerate(codes[0]))
    by_hand = [(number >> shift) & 0xFFFFFFFF for shift in (0, 32, 64)]
    assert pack_stream(codes, 3)[0].tolist() == by_hand
    low = [sum((k % 4) << (2 * (k % 16)) for k in range(s, s + 16)) for s in (0, 16)]
    high = sum((k % 8 >> 2) << k for k in range(32))
    assert pack_planes(codes, 3)[0].tolist() == [*low, high]


@settings(max_examples=40, deadline=None)
@given(
    bits=st.sampled_from([2, 3, 4, 5, 6, 7, 8]),
    units=st.tuples(st.integers(1, 4), st.integers(1, 5)),
    group_size=st.sampled_from([-1, 16, 24, 32, 96, 128, 160]),
    sym=st.booleans(),
    act_order=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_any_shape(
    bits: int,
    units: tuple[int, int],
    group_size: int,
    sym: bool,
    act_order: bool,
    seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    case_shape = (32 * units[0], 32 * units[1])
    model = TinyModel(
        "llama",
        hidden=case_shape[1],
        inner=case_shape[0],
        layers=1,
        head_dim=32,
        heads=units[1],
        kv_heads=units[1],
    )
    is_planar = bits in (5, 6, 7)
    folder = create_folder(
        model=model,
        bits=bits,
        group_size=group_size,
        sym=sym,
        act_order=act_order,
        is_planar=is_planar,
        less_one=not is_planar,
    )
    path = tmp_path_factory.mktemp("any") / f"hf-{seed}"
    for stem, linear in quantized(open_source(folder.write(path))).items():
        weight = folder.cases[stem].weight
        assert_same_bits(linear.load_dense(), weight, stem)
        if linear.native is not None:
            assert_same_bits(dequantize(linear.load_native()), weight, stem)
