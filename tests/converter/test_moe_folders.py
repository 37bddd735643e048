"""Quantized folders with experts: each expert is a linear of its own, exact where its format is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.checkpoint.schemes import TensorPath
from app.converter.grids import Grid, plan_linear
from app.converter.permutations import normalize
from app.converter.pipeline import convert
from app.converter.sources.base import Source, SourceLinear
from app.converter.sources.detect import open_source
from app.core.errors import InvalidSourceError
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.spec.weights import is_router
from benchmarks.folder_encoders import ENCODERS
from tests.compressed_tensors_factory import (
    PackedLinear,
    declaration,
    prefixed,
    random_packed,
)
from tests.converter.gptq_encoder import GptqCase, random_case
from tests.family_models import create_executor, run
from tests.moe_folders import (
    MIXTRAL,
    NUM_EXPERTS,
    QWEN2_MOE,
    QWEN3_MOE,
    encode,
    encoded_stems,
    random_tensors,
    write_folder,
)
from tests.quantized_folders import Arrays, check_native, edit_config, edit_tensors

_CONFIGS = {config["model_type"]: config for config in (MIXTRAL, QWEN2_MOE, QWEN3_MOE)}
_EXACT = [name for name in ENCODERS if not name.startswith(("bits", "FP8"))]


def linears_of(source: Source) -> dict[str, SourceLinear]:
    return {linear.name: linear for part in source.parts() for linear in part.linears}


def distance(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def stack_for_mlx(tensors: Arrays, config: dict[str, Any]) -> Arrays:
    """As mlx-lm stores experts: `<block>.switch_mlp.gate_proj.weight` [experts, ...]."""
    words = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}
    stacks: dict[str, list[Any]] = {}
    others: Arrays = {}
    for name, array in tensors.items():
        found = re.fullmatch(r"(.+)\.experts\.\d+\.(\w+)\.(\w+)", name)
        if found is None:
            others[name] = array
            continue
        linear = words.get(found[2], found[2])
        stacks.setdefault(f"{found[1]}.switch_mlp.{linear}.{found[3]}", []).append(array)
    return others | {name: np.stack(arrays) for name, arrays in stacks.items()}


def encoded_folder(config: dict[str, Any], name: str, path: Path) -> tuple[Path, Arrays]:
    """A folder in the format, and the weights it was made of by their names there."""
    encoder, weights = ENCODERS[name], random_tensors(config)
    tensors = encode(weights, config, encoder.encode)
    if encoder.with_vocabulary:
        for stem in ("model.embed_tokens", "lm_head"):
            arrays = encoder.encode(tensors.pop(f"{stem}.weight"))
            tensors |= {f"{stem}.{suffix}": array for suffix, array in arrays.items()}
        tensors = stack_for_mlx(tensors, config)
    return write_folder(path, {**config, **encoder.config}, tensors), weights


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("model_type", _CONFIGS)
def test_every_expert_is_read_in_its_place(name: str, model_type: str, tmp_path: Path) -> None:
    config = _CONFIGS[model_type]
    folder, weights = encoded_folder(config, name, tmp_path / "hf")
    linears = linears_of(open_source(folder))
    for canonical, stem in encoded_stems(config).items():
        found = linears[canonical]
        assert found.is_quantized
        # A neighbour's weights would be 1.4 away.
        assert distance(found.load_dense(), weights[f"{stem}.weight"]) < 0.15, canonical
    routers = [linear for linear in linears.values() if is_router(linear.name)]
    assert len(routers) == (4 if model_type == "qwen2_moe" else 2)
    assert not any(router.is_quantized for router in routers)


@pytest.mark.parametrize("name", _EXACT)
def test_experts_convert_exactly(name: str, tmp_path: Path) -> None:
    folder, _ = encoded_folder(QWEN3_MOE, name, tmp_path / "hf")
    report = convert(folder, tmp_path / "out")
    assert report.lossless
    linears = linears_of(open_source(folder))
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        records = checkpoint.manifest.linears
        assert records.keys() == linears.keys()
        for canonical in encoded_stems(QWEN3_MOE):
            assert records[canonical].provenance.path is TensorPath.EXACT
            found = dequantize(checkpoint.linear(canonical))
            np.testing.assert_array_equal(found, linears[canonical].load_dense(), canonical)


def gptq_folder(path: Path, **how: Any) -> tuple[Path, dict[str, GptqCase]]:
    """Qwen3-MoE whose experts have column orders of their own, gate and up the same."""
    cases: dict[str, GptqCase] = {}
    tensors = random_tensors(QWEN3_MOE)
    for seed, (canonical, stem) in enumerate(encoded_stems(QWEN3_MOE).items()):
        out_features, in_features = tensors.pop(f"{stem}.weight").shape
        shared = seed if canonical.endswith("down_proj") else hash_of_block(stem)
        case = random_case((out_features, in_features), seed=shared, **how)
        cases[canonical] = case
        tensors |= {f"{stem}.{name}": array for name, array in case.arrays().items()}
    table = {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": how.get("sym", True)}
    config = {**QWEN3_MOE, "quantization_config": table | {"desc_act": True}}
    return write_folder(path, config, tensors), cases


def hash_of_block(stem: str) -> int:
    return sum(stem.rpartition(".")[0].encode())


@pytest.mark.parametrize("sym", [True, False])
def test_gptq_experts_are_exact_and_run_the_same(sym: bool, tmp_path: Path) -> None:
    folder, cases = gptq_folder(tmp_path / "hf", act_order=True, sym=sym)
    linears = linears_of(open_source(folder))
    for canonical, case in cases.items():
        np.testing.assert_array_equal(linears[canonical].load_dense(), case.weight, canonical)
        check_native(linears[canonical])
    assert convert(folder, tmp_path / "out").lossless
    assert convert(folder, tmp_path / "dense", grid="dense").lossless
    want = run(create_executor(ReferenceExecutor, tmp_path / "dense"), 60)
    for kind, options in ((ReferenceExecutor, {}), (CpuExecutor, {"kv_dtype": "fp32"})):
        got = run(create_executor(kind, tmp_path / "out", **options), 60)
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-4)


def test_act_order_of_an_experts_down_proj_goes_into_its_gate_and_up(tmp_path: Path) -> None:
    folder, cases = gptq_folder(tmp_path / "hf", act_order=True)
    linears = linears_of(open_source(folder))
    convert(folder, tmp_path / "out")
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        for expert in range(NUM_EXPERTS):
            prefix = f"layers.1.mlp.experts.{expert}"
            down = checkpoint.linear(f"{prefix}.down_proj")
            assert down.perm is None
            order = normalize(linears[f"{prefix}.down_proj"].load_native()).perm
            for short in ("gate_proj", "up_proj"):
                name = f"{prefix}.{short}"
                origin = checkpoint.manifest.linears[name].provenance
                assert origin.row_order == f"mlp.experts.{expert}.down_proj"
                found = dequantize(checkpoint.linear(name))
                np.testing.assert_array_equal(found, cases[name].weight[order])


def packed_folder(
    path: Path, config: dict[str, Any], ignore: list[str], *, symmetric: bool
) -> tuple[Path, dict[str, PackedLinear]]:
    """compressed-tensors W4A16 as llm-compressor packs experts: every linear by its own name."""
    cases: dict[str, PackedLinear] = {}
    tensors = random_tensors(config)
    for seed, (canonical, stem) in enumerate(encoded_stems(config).items()):
        shape = tensors.pop(f"{stem}.weight").shape
        case = random_packed(shape, symmetric=symmetric, seed=seed)
        cases[canonical] = case
        tensors |= prefixed(stem, case.tensors())
    declared = declaration(symmetric=symmetric, ignore=ignore)
    return write_folder(path, {**config, "quantization_config": declared}, tensors), cases


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("config", [QWEN3_MOE, MIXTRAL], ids=["qwen3_moe", "mixtral"])
def test_packed_experts_are_exact(config: dict[str, Any], symmetric: bool, tmp_path: Path) -> None:
    block = "block_sparse_moe" if config is MIXTRAL else "mlp"
    # A recipe's pattern, or what it matched, layer by layer.
    ignore = ["lm_head", rf"re:.*{block}\.gate$"]
    if symmetric:
        ignore = ["lm_head", *(f"model.layers.{index}.{block}.gate" for index in range(2))]
    folder, cases = packed_folder(tmp_path / "hf", config, ignore, symmetric=symmetric)
    linears = linears_of(open_source(folder))
    for canonical, case in cases.items():
        np.testing.assert_array_equal(linears[canonical].load_dense(), case.weight, canonical)
        check_native(linears[canonical])
    assert convert(folder, tmp_path / "out").lossless
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        for canonical, case in cases.items():
            found = dequantize(checkpoint.linear(canonical))
            np.testing.assert_array_equal(found, case.weight, canonical)


@pytest.mark.parametrize("suffix", ["weight_packed", "weight_scale", "weight_shape"])
def test_a_packed_expert_without_an_array_is_named(suffix: str, tmp_path: Path) -> None:
    ignore = ["lm_head", r"re:.*mlp\.gate$"]
    folder, _ = packed_folder(tmp_path / "hf", QWEN3_MOE, ignore, symmetric=True)
    lost = f"model.layers.1.mlp.experts.3.up_proj.{suffix}"
    edit_tensors(folder, lambda tensors: tensors.pop(lost))
    with pytest.raises(InvalidSourceError, match=re.escape(lost)):
        open_source(folder)


def test_gptq_of_qwen3_moe_as_published(tmp_path: Path) -> None:
    """GPTQModel leaves routers out by a rule of `dynamic`; here without act-order."""
    folder, cases = gptq_folder(tmp_path / "hf", act_order=False)

    def declare(config: dict[str, Any]) -> None:
        rule = {r"-:.*\.mlp\.gate$": {}}
        config["quantization_config"] |= {"desc_act": False, "dynamic": rule, "lm_head": False}

    linears = linears_of(open_source(edit_config(folder, declare)))
    for canonical, case in cases.items():
        np.testing.assert_array_equal(linears[canonical].load_dense(), case.weight, canonical)
    assert convert(folder, tmp_path / "out").lossless


@pytest.mark.parametrize("grid", ["exact", "w8", "w4", "w3"])
def test_routers_stay_dense_on_every_grid(grid: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "hf", QWEN2_MOE, random_tensors(QWEN2_MOE))
    convert(folder, tmp_path / "out", grid=grid, group_size=32)
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        for name, record in checkpoint.manifest.linears.items():
            is_layer = name.startswith("layers.")
            is_dense = grid == "exact" or is_router(name)
            assert not is_layer or (record.quant is None) == is_dense, name


def test_a_quantized_router_becomes_dense_without_loss(tmp_path: Path) -> None:
    """mlx-lm quantizes routers at 8 bits; which experts run must not depend on a kernel."""
    encoder = ENCODERS["MLX 4-bit"]
    tensors = stack_for_mlx(encode(random_tensors(QWEN3_MOE), QWEN3_MOE, encoder.encode), QWEN3_MOE)
    gates = [f"model.layers.{index}.mlp.gate" for index in range(2)]
    for gate in gates:
        arrays = encoder.encode(tensors.pop(f"{gate}.weight"))
        tensors |= {f"{gate}.{name}": array for name, array in arrays.items()}
    folder = write_folder(tmp_path / "hf", {**QWEN3_MOE, **encoder.config}, tensors)
    router = linears_of(open_source(folder))["layers.0.mlp.router"]
    assert router.is_quantized
    assert plan_linear(router, Grid.EXACT).quant is None
    assert convert(folder, tmp_path / "out").lossless
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        weight = checkpoint.linear("layers.0.mlp.router").weight
        np.testing.assert_array_equal(weight, router.load_dense())


def test_stacks_of_gate_above_up_are_read(tmp_path: Path) -> None:
    """As transformers 5 holds every family in memory."""
    tensors = random_tensors(QWEN3_MOE)
    apart = open_source(write_folder(tmp_path / "apart", QWEN3_MOE, tensors))
    stacked = dict(tensors)
    for index in range(2):
        stem = f"model.layers.{index}.mlp.experts"
        one = {
            part: [stacked.pop(f"{stem}.{e}.{part}_proj.weight") for e in range(NUM_EXPERTS)]
            for part in ("gate", "up", "down")
        }
        pairs = zip(one["gate"], one["up"], strict=True)
        stacked[f"{stem}.gate_up_proj"] = np.stack([np.concatenate(pair) for pair in pairs])
        stacked[f"{stem}.down_proj"] = np.stack(one["down"])
    together = open_source(write_folder(tmp_path / "together", QWEN3_MOE, stacked))
    for name, linear in linears_of(apart).items():
        np.testing.assert_array_equal(linears_of(together)[name].load_dense(), linear.load_dense())


def test_an_expert_that_is_missing_is_named(tmp_path: Path) -> None:
    tensors = random_tensors(MIXTRAL)
    del tensors["model.layers.1.block_sparse_moe.experts.2.w3.weight"]
    folder = write_folder(tmp_path / "hf", MIXTRAL, tensors)
    with pytest.raises(InvalidSourceError, match=r"missing model\.layers\.1\.\S+\.experts\.2\.w3"):
        open_source(folder)
