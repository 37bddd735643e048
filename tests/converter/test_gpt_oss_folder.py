"""gpt-oss folders: experts in MXFP4 as published, and dense as transformers stores them."""

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
from app.checkpoint.schemes import TensorPath
from app.converter.pipeline import convert
from app.converter.sources.base import SourceLinear
from app.converter.sources.detect import open_source
from app.core.errors import AppError
from tests.family_models import NUM_TOKENS, TOKENS, reference_logits
from tests.gguf_factory import Floats
from tests.moe_folders import GPT_OSS, NUM_EXPERTS, random_tensors, write_folder
from tests.quantized_folders import Arrays, check_native

_MXFP4 = {"quantization_config": {"quant_method": "mxfp4"}}
_HIDDEN, _INNER = GPT_OSS["hidden_size"], GPT_OSS["intermediate_size"]
_ROWS = {"gate_up_proj": (2 * _INNER, _HIDDEN), "down_proj": (_HIDDEN, _INNER)}
_LINEARS = ("gate_proj", "up_proj", "down_proj")


def other_tensors() -> Arrays:
    """All but the experts, in bfloat16."""
    tensors = random_tensors(GPT_OSS)
    return {n: t.astype(ml_dtypes.bfloat16) for n, t in tensors.items() if ".experts." not in n}


def random_blocks() -> Arrays:
    """Every stack of experts as OpenAI stores it: blocks, e8m0 scales of sane size, biases."""
    rng = np.random.default_rng(3)
    tensors: Arrays = {}
    for index in range(GPT_OSS["num_hidden_layers"]):
        for name, (rows, columns) in _ROWS.items():
            stem = f"model.layers.{index}.mlp.experts.{name}"
            groups = (NUM_EXPERTS, rows, columns // 32)
            tensors[f"{stem}_blocks"] = rng.integers(0, 256, (*groups, 16)).astype(np.uint8)
            tensors[f"{stem}_scales"] = rng.integers(119, 124, groups).astype(np.uint8)
            bias = rng.standard_normal((NUM_EXPERTS, rows)).astype(ml_dtypes.bfloat16)
            tensors[f"{stem}_bias"] = bias
    return tensors


def decode_by_transformers(tensors: Arrays) -> Arrays:
    """The same experts dense, [experts, in, out] in bfloat16."""
    import torch
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    decoded = {n: t for n, t in tensors.items() if n.endswith("_bias")}
    for name in tensors:
        stem = name.removesuffix("_blocks")
        if stem != name:
            blocks, scales = (
                torch.from_numpy(tensors[f"{stem}_{n}"]) for n in ("blocks", "scales")
            )
            dense = convert_moe_packed_tensors(blocks, scales).contiguous()
            decoded[stem] = dense.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return decoded


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One model, its experts in MXFP4 and dense."""
    root, packed = tmp_path_factory.mktemp("gpt_oss"), random_blocks()
    others = other_tensors()
    return {
        "mxfp4": write_folder(root / "mxfp4", {**GPT_OSS, **_MXFP4}, others | packed),
        "dense": write_folder(root / "dense", GPT_OSS, others | decode_by_transformers(packed)),
    }


def experts_of(folder: Path) -> dict[str, SourceLinear]:
    parts = open_source(folder).parts()
    linears = (linear for part in parts for linear in part.linears)
    return {linear.name: linear for linear in linears if ".experts." in linear.name}


def bias_of(linear: SourceLinear) -> npt.NDArray[Any]:
    assert linear.load_bias is not None
    return linear.load_bias()


def test_blocks_and_the_dense_variant_are_the_same_experts(folders: dict[str, Path]) -> None:
    packed, dense = experts_of(folders["mxfp4"]), experts_of(folders["dense"])
    assert len(packed) == 2 * NUM_EXPERTS * len(_LINEARS)
    assert packed.keys() == dense.keys()
    for name, linear in packed.items():
        assert (linear.source_type, dense[name].source_type) == ("MXFP4", "BF16")
        np.testing.assert_array_equal(linear.load_dense(), dense[name].load_dense(), name)
        np.testing.assert_array_equal(bias_of(linear), bias_of(dense[name]), name)
        check_native(linear)


def test_gate_is_every_other_row(folders: dict[str, Path]) -> None:
    """imp#2040, ktransformers#1862: not the upper and the lower half."""
    tensors = decode_by_transformers(random_blocks())
    stack = tensors["model.layers.1.mlp.experts.gate_up_proj"].astype(np.float32)
    biases = tensors["model.layers.1.mlp.experts.gate_up_proj_bias"]
    for source in folders.values():
        experts = experts_of(source)
        for expert in range(NUM_EXPERTS):
            for start, short in enumerate(("gate_proj", "up_proj")):
                linear = experts[f"layers.1.mlp.experts.{expert}.{short}"]
                np.testing.assert_array_equal(linear.load_dense(), stack[expert, :, start::2].T)
                np.testing.assert_array_equal(bias_of(linear), biases[expert, start::2])


def test_gate_rows_of_1_and_up_rows_of_2(tmp_path: Path) -> None:
    """The trial itself, through a whole conversion."""
    stem = "model.layers.{}.mlp.experts.{}"
    tensors = other_tensors()
    for index in range(2):
        turns = np.tile([1.0, 2.0], _INNER)
        gate_up = np.broadcast_to(turns, (NUM_EXPERTS, _HIDDEN, 2 * _INNER))
        arrays = {
            "gate_up_proj": gate_up,
            "gate_up_proj_bias": gate_up[:, 0],
            "down_proj": np.full((NUM_EXPERTS, _INNER, _HIDDEN), 3.0),
            "down_proj_bias": np.full((NUM_EXPERTS, _HIDDEN), 3.0),
        }
        tensors |= {stem.format(index, n): a.astype(ml_dtypes.bfloat16) for n, a in arrays.items()}
    convert(write_folder(tmp_path / "hf", GPT_OSS, tensors), tmp_path / "out", grid="dense")
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        for value, short in enumerate(_LINEARS, start=1):
            linear = checkpoint.linear(f"layers.1.mlp.experts.2.{short}")
            assert (dequantize(linear) == value).all()
            assert linear.bias is not None
            assert (linear.bias == value).all()


def transformers_logits(folder: Path) -> Floats:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    with torch.no_grad():
        output = model(torch.from_numpy(TOKENS[None].astype(np.int64)), use_cache=False)
    return np.asarray(output.logits[0])


def test_mxfp4_converts_exactly_and_says_what_transformers_says(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    report = convert(folders["mxfp4"], tmp_path / "out")
    assert (report.format, report.lossless) == ("mxfp4", True)
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        for name, record in checkpoint.manifest.linears.items():
            is_expert = ".experts." in name
            path = TensorPath.EXACT if is_expert else TensorPath.DENSE
            assert record.provenance.path is path, name
        source = record_source(checkpoint)
        assert source == "model.layers.0.mlp.experts.gate_up_proj_blocks"
    want = transformers_logits(folders["dense"])
    got = reference_logits(tmp_path / "out", NUM_TOKENS)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-3)


def record_source(checkpoint: Checkpoint) -> str:
    return checkpoint.manifest.linears["layers.0.mlp.experts.3.up_proj"].provenance.source


_STACK = "model.layers.0.mlp.experts.down_proj"
_DAMAGES: dict[str, tuple[Callable[[Arrays], Any], str]] = {
    "a stack is missing": (lambda t: t.pop(f"{_STACK}_blocks"), "missing .*down_proj"),
    "its scales are missing": (lambda t: t.pop(f"{_STACK}_scales"), "missing .*down_proj.scales"),
    "its biases are missing": (lambda t: t.pop(f"{_STACK}_bias"), "missing .*down_proj.bias"),
    "one expert too few": (
        lambda t: t.update({f"{_STACK}_blocks": t[f"{_STACK}_blocks"][1:].copy()}),
        "missing .*down_proj.weight.* unexpected .*down_proj.scales",
    ),
    "scales of another shape": (
        lambda t: t.update({f"{_STACK}_scales": t[f"{_STACK}_scales"][:, :, :1].copy()}),
        "mis-shaped .*down_proj.scales",
    ),
    "blocks of another type": (
        lambda t: t.update({f"{_STACK}_blocks": t[f"{_STACK}_blocks"].view(np.int8)}),
        "down_proj_blocks is int8",
    ),
}


@pytest.mark.parametrize("damage", _DAMAGES)
def test_damaged_experts_are_refused(damage: str, tmp_path: Path) -> None:
    edit, message = _DAMAGES[damage]
    tensors = other_tensors() | random_blocks()
    edit(tensors)
    folder = write_folder(tmp_path / "hf", {**GPT_OSS, **_MXFP4}, tensors)
    with pytest.raises(AppError, match=message):
        open_source(folder)


def test_a_scale_that_is_nan_is_refused(tmp_path: Path) -> None:
    tensors = other_tensors() | random_blocks()
    tensors[f"{_STACK}_scales"][2, 5, 1] = 255
    folder = write_folder(tmp_path / "hf", {**GPT_OSS, **_MXFP4}, tensors)
    with pytest.raises(AppError, match=r"down_proj_scales is damaged.*NaN"):
        convert(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_declaration_and_tensors_must_agree(tmp_path: Path) -> None:
    packed, others = random_blocks(), other_tensors()
    undeclared = write_folder(tmp_path / "undeclared", GPT_OSS, others | packed)
    with pytest.raises(AppError, match=r"no configuration says .* _blocks tensors"):
        open_source(undeclared)
    dense = others | decode_by_transformers(packed)
    declared = write_folder(tmp_path / "declared", {**GPT_OSS, **_MXFP4}, dense)
    with pytest.raises(AppError, match="says mxfp4, but the tensors are all dense"):
        open_source(declared)
