"""How GGUF stores a family: norms of 1 + w, fused tensors in blocks, tables of rope factors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from app.checkpoint.reference_quant import dequantize
from app.converter.sources.base import SourceLinear
from app.converter.sources.gguf import GgufSource
from app.core.errors import InvalidSourceError
from tests.families.gemma_cases import CASES as GEMMA_CASES
from tests.families.phi_granite_cases import CASES as PHI_CASES
from tests.family_models import FamilyCase, tiny_model, write_family_gguf, write_folder
from tests.gguf_factory import Floats, Q, write_tensors

GEMMA = {case.name: case for case in GEMMA_CASES}
PHI3 = next(case for case in PHI_CASES if case.name == "phi3")
MINISTRAL3 = next(case for case in PHI_CASES if case.name == "ministral3")


def write(case: FamilyCase, root: Path) -> Path:
    folder = write_folder(case, root / "folder")
    assert case.gguf
    return write_family_gguf(case.gguf, folder, root / "model.gguf")


def read(path: Path) -> tuple[str, dict[str, Any], dict[str, Floats]]:
    """Architecture, metadata and tensors, by gguf's own reader."""
    reader = gguf.GGUFReader(path)
    values = {name: field.contents() for name, field in reader.fields.items()}
    metadata = {name: values[name] for name in values if not name.startswith(("GGUF", "general."))}
    return (
        str(values["general.architecture"]),
        metadata,
        {tensor.name: np.array(tensor.data) for tensor in reader.tensors},
    )


@pytest.mark.parametrize("name", GEMMA)
def test_gemmas_norms_lose_the_one_that_llama_cpp_added(name: str, tmp_path: Path) -> None:
    source = GgufSource(write(GEMMA[name], tmp_path), tmp_path / "folder")
    found = {vector.name: vector.load() for part in source.parts() for vector in part.vectors}
    state = tiny_model(GEMMA[name]).state_dict()
    wanted = {
        key.removeprefix("model.").removesuffix(".weight"): value.numpy()
        for key, value in state.items()
        if value.ndim == 1
    }
    assert len(found) == len(wanted)
    rest = {"norm", "layers.0.input_layernorm", "layers.1.self_attn.q_norm"} & found.keys()
    for key in rest:
        np.testing.assert_allclose(found[key], wanted[key], rtol=0, atol=1e-6)


def test_a_norm_stored_as_one_is_gemmas_zero_and_every_others_one(tmp_path: Path) -> None:
    for case, want in ((GEMMA["gemma"], 0.0), (MINISTRAL3, 1.0)):
        root = tmp_path / case.name
        root.mkdir()
        architecture, metadata, tensors = read(write(case, root))
        tensors["output_norm.weight"][:] = 1.0
        path = write_tensors(root / "ones.gguf", architecture, metadata, tensors)
        source = GgufSource(path, root / "folder")
        vectors = {vector.name: vector for part in source.parts() for vector in part.vectors}
        assert (vectors["norm"].load() == want).all()


@pytest.fixture
def quantized_phi3(tmp_path: Path) -> tuple[dict[str, SourceLinear], dict[str, Floats]]:
    """The linears of a Phi-3 whose fused tensors are blocks, and what gguf decodes of those."""
    case = FamilyCase("wide", "phi3", {**PHI3.changes, "hidden_size": 64}, PHI3.gguf)
    architecture, metadata, tensors = read(write(case, tmp_path))
    types = {name: Q.Q4_1 for name in tensors if "attn_qkv" in name or "ffn_up" in name}
    path = write_tensors(tmp_path / "blocks.gguf", architecture, metadata, tensors, types)
    decoded = {
        name: gguf.quants.dequantize(gguf.quants.quantize(tensors[name], kind), kind)
        for name, kind in types.items()
    }
    source = GgufSource(path, tmp_path / "folder")
    linears = {linear.name: linear for part in source.parts() for linear in part.linears}
    return linears, decoded


def test_phi_3s_fused_blocks_are_cut_bit_for_bit(
    quantized_phi3: tuple[dict[str, SourceLinear], dict[str, Floats]],
) -> None:
    linears, decoded = quantized_phi3
    cuts = {
        "self_attn.q_proj": ("attn_qkv", slice(0, 64)),
        "self_attn.k_proj": ("attn_qkv", slice(64, 96)),
        "self_attn.v_proj": ("attn_qkv", slice(96, 128)),
        "mlp.gate_proj": ("ffn_up", slice(0, 80)),
        "mlp.up_proj": ("ffn_up", slice(80, 160)),
    }
    for index in range(3):
        for name, (stem, rows) in cuts.items():
            linear = linears[f"layers.{index}.{name}"]
            want = decoded[f"blk.{index}.{stem}.weight"][rows]
            np.testing.assert_array_equal(dequantize(linear.load_native()), want)
            np.testing.assert_array_equal(linear.load_dense(), want)


def test_a_missing_norm_of_gemma_is_named(tmp_path: Path) -> None:
    architecture, metadata, tensors = read(write(GEMMA["gemma2"], tmp_path))
    del tensors["blk.1.post_ffw_norm.weight"]
    path = write_tensors(tmp_path / "less.gguf", architecture, metadata, tensors)
    with pytest.raises(InvalidSourceError, match=r"missing blk\.1\.post_ffw_norm\.weight"):
        GgufSource(path, tmp_path / "folder")


def test_the_configuration_is_that_of_the_folder(tmp_path: Path) -> None:
    """What both sources tell the adapter of Gemma 3, but for names that GGUF does not keep."""
    source = GgufSource(write(GEMMA["gemma3"], tmp_path), tmp_path / "folder")
    config = json.loads((tmp_path / "folder" / "config.json").read_text(encoding="utf-8"))
    for key in ("architectures", "model_type", "layer_types", "sliding_window", "head_dim"):
        assert source.config[key] == config[key]
    assert source.config["rope_parameters"] == config["rope_parameters"]
