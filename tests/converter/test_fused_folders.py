"""Phi-3's fused projections in quantized folders: packed as one, cut into exact linears."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import save_file

from app.checkpoint.reference_quant import dequantize
from app.converter.export import export
from app.converter.export_plan import ExportFormat
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.core.errors import UnsupportedError
from tests.awq_factory import pack_gemm, random_grid
from tests.compressed_tensors_factory import declaration, random_packed
from tests.converter.gptq_encoder import random_case
from tests.family_models import reference_logits

Array = npt.NDArray[Any]
Encoded = tuple[dict[str, Array], Array]  # the stored arrays by last name, the float32 weight

HIDDEN, Q, KV, INNER, VOCAB = 64, 64, 32, 96, 97
CONFIG = {
    "architectures": ["Phi3ForCausalLM"],
    "model_type": "phi3",
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCAB,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "torch_dtype": "float16",
}
FUSED = {
    "self_attn.qkv_proj": (Q + 2 * KV, HIDDEN),
    "self_attn.o_proj": (HIDDEN, Q),
    "mlp.gate_up_proj": (2 * INNER, HIDDEN),
    "mlp.down_proj": (HIDDEN, INNER),
}
# Canonical linear -> the stored one and its rows there.
ROWS = {
    "self_attn.q_proj": ("self_attn.qkv_proj", slice(0, Q)),
    "self_attn.k_proj": ("self_attn.qkv_proj", slice(Q, Q + KV)),
    "self_attn.v_proj": ("self_attn.qkv_proj", slice(Q + KV, None)),
    "self_attn.o_proj": ("self_attn.o_proj", slice(None)),
    "mlp.gate_proj": ("mlp.gate_up_proj", slice(0, INNER)),
    "mlp.up_proj": ("mlp.gate_up_proj", slice(INNER, None)),
    "mlp.down_proj": ("mlp.down_proj", slice(None)),
}


def gptq(shape: tuple[int, int], seed: int) -> Encoded:
    case = random_case(shape, sym=False, act_order=True, seed=seed)
    return case.arrays(), case.weight


def awq(shape: tuple[int, int], seed: int) -> Encoded:
    grid = random_grid(shape, 32, seed)
    return pack_gemm(grid), grid.weight().astype(np.float32)


def compressed_tensors(shape: tuple[int, int], seed: int) -> Encoded:
    linear = random_packed(shape, symmetric=False, seed=seed)
    return linear.tensors(), linear.weight


FORMATS: dict[str, tuple[Callable[[tuple[int, int], int], Encoded], dict[str, Any]]] = {
    "gptq": (
        gptq,
        {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": False, "desc_act": True},
    ),
    "awq": (
        awq,
        {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm"},
    ),
    "compressed-tensors": (compressed_tensors, declaration(symmetric=False)),
}


def phi3_tensors() -> dict[str, Array]:
    """Everything but the linears of the layers."""
    rng = np.random.default_rng(0)
    tensors: dict[str, Array] = {}
    for name in ("model.embed_tokens", "lm_head"):
        tensors[f"{name}.weight"] = rng.standard_normal((VOCAB, HIDDEN)).astype(np.float16)
    tensors["model.norm.weight"] = np.ones(HIDDEN, np.float16)
    for index in range(2):
        for norm in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{index}.{norm}.weight"] = np.ones(HIDDEN, np.float16)
    return tensors


def write(folder: Path, tensors: dict[str, Array], **config: Any) -> Path:
    folder.mkdir()
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}), encoding="utf-8")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Phi3:
    """The same model quantized and dense, and the true weight of every stored linear."""

    quantized: Path
    dense: Path
    weights: dict[str, Array]


@pytest.fixture(params=FORMATS)
def phi3(request: pytest.FixtureRequest, tmp_path: Path) -> Phi3:
    encode, table = FORMATS[request.param]
    tensors, weights = phi3_tensors(), {}
    for index in range(2):
        for name, shape in FUSED.items():
            stem = f"model.layers.{index}.{name}"
            arrays, weights[stem] = encode(shape, len(weights))
            tensors |= {f"{stem}.{last}": array for last, array in arrays.items()}
    dense = phi3_tensors() | {f"{stem}.weight": weight for stem, weight in weights.items()}
    return Phi3(
        write(tmp_path / "quantized", tensors, quantization_config=table),
        write(tmp_path / "dense", dense),
        weights,
    )


def test_a_fused_linear_is_its_parts_bit_for_bit(phi3: Phi3) -> None:
    source = open_source(phi3.quantized)
    found = {linear.name: linear for part in source.parts() for linear in part.linears}
    for index in range(2):
        for name, (stored, rows) in ROWS.items():
            linear = found[f"layers.{index}.{name}"]
            want = phi3.weights[f"model.layers.{index}.{stored}"][rows]
            np.testing.assert_array_equal(linear.load_dense(), want, name)
            np.testing.assert_array_equal(dequantize(linear.load_native()), want, name)


def test_the_converted_model_says_what_the_dense_one_says(phi3: Phi3, tmp_path: Path) -> None:
    report = convert(phi3.quantized, tmp_path / "exact")
    assert report.num_exact == 2 * len(ROWS)
    convert(phi3.dense, tmp_path / "native", grid="dense")
    got, want = (reference_logits(tmp_path / name) for name in ("exact", "native"))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-4)


def test_what_was_fused_is_not_exported(phi3: Phi3, tmp_path: Path) -> None:
    convert(phi3.quantized, tmp_path / "exact")
    with pytest.raises(UnsupportedError, match="Phi3ForCausalLM cannot be exported"):
        export(tmp_path / "exact", tmp_path / "exported", ExportFormat.GPTQ)
    assert not (tmp_path / "exported").exists()
