"""Latent attention out of quantized files: rotated rows, expansions stored apart, draft layers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from app.converter.pipeline import convert
from app.converter.sources.base import Source, SourceLinear
from app.converter.sources.detect import open_source
from app.core.errors import InvalidSourceError
from tests.converter.test_fp8 import quantize
from tests.families.deepseek_cases import CASES, LATENT
from tests.families.test_gguf_layouts import read, write
from tests.family_models import FamilyCase, cpu_logits, reference_logits, write_folder
from tests.gguf_factory import Floats, Q, write_tensors

_CASES = {case.name: case for case in CASES}
_FLASH = _CASES["glm 4.7 flash"]
# Widths that blocks of 32 divide.
_WIDE = FamilyCase(
    "wide",
    "deepseek_v3",
    {**LATENT, "num_hidden_layers": 2, "qk_nope_head_dim": 32, "v_head_dim": 64},
    _CASES["deepseek v3"].gguf,
)
_HEADS, _LORA, _STILL, _ROTARY = 4, 32, 8, 8
_KV_B = "layers.1.self_attn.kv_b_proj"
_PREDICTING = "The layers that predict several tokens at once are left out."


def linears_of(source: Source) -> dict[str, SourceLinear]:
    return {linear.name: linear for part in source.parts() for linear in part.linears}


@pytest.mark.parametrize(
    ("keys", "values", "label"),
    [(Q.Q8_0, Q.Q4_0, "Q8_0 and Q4_0"), (Q.Q8_0, Q.Q8_0, "Q8_0"), (Q.F16, Q.F32, "F32")],
)
def test_an_expansion_stored_apart_is_put_together(
    keys: Q, values: Q, label: str, tmp_path: Path
) -> None:
    architecture, metadata, tensors = read(write(_WIDE, tmp_path))
    types = {"blk.1.attn_k_b.weight": keys, "blk.1.attn_v_b.weight": values}
    path = write_tensors(tmp_path / "blocks.gguf", architecture, metadata, tensors, types)
    linear = linears_of(open_source(path, tokenizer_dir=tmp_path / "folder"))[_KV_B]
    decoded = [_decoded(tensors[name], kind) for name, kind in types.items()]
    want = np.concatenate((decoded[0].swapaxes(1, 2), decoded[1]), axis=1).reshape(-1, _LORA)
    np.testing.assert_array_equal(linear.load_dense(), want)
    assert linear.iter_dense
    for rows, block in linear.iter_dense():
        np.testing.assert_array_equal(block, want[rows])
    assert linear.shape == want.shape == (_HEADS * (32 + 64), _LORA)
    assert (linear.source_type, linear.native) == (label, None)
    assert linear.is_quantized == (keys is Q.Q8_0)
    convert(path, tmp_path / "out", tokenizer_dir=tmp_path / "folder")
    got = cpu_logits(tmp_path / "out")
    np.testing.assert_allclose(got, reference_logits(tmp_path / "out"), rtol=0, atol=1e-3)


def _decoded(stored: Floats, kind: Q) -> Floats:
    """What gguf makes of [heads, rows, columns] in this type."""
    return np.asarray(gguf.quants.dequantize(gguf.quants.quantize(stored, kind), kind), np.float32)


@pytest.mark.parametrize("name", ["attn_v_b", "attn_k_b", "exp_probs_b"])
def test_a_missing_tensor_is_named(name: str, tmp_path: Path) -> None:
    architecture, metadata, tensors = read(write(_WIDE, tmp_path))
    lost = next(key for key in tensors if key.startswith(f"blk.1.{name}."))
    del tensors[lost]
    path = write_tensors(tmp_path / "less.gguf", architecture, metadata, tensors)
    wanted = lost.replace("k_b", "kv_b")  # without keys, the expansion could be whole
    with pytest.raises(InvalidSourceError, match=rf"missing {wanted}"):
        open_source(path, tokenizer_dir=tmp_path / "folder")


def fp8_folder(case: FamilyCase, directory: Path) -> Path:
    """All projections in blocks of [16, 32], the draft layer's, too."""
    write_folder(case, directory)
    config: dict[str, Any] = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [16, 32]}
    stored = load_file(directory / "model.safetensors")
    last = f"model.layers.{config['num_hidden_layers']}"
    stored[f"{last}.self_attn.o_proj.weight"] = stored["model.layers.1.self_attn.o_proj.weight"]
    tensors: dict[str, Any] = {}
    for name, values in stored.items():
        if "_proj" not in name or values.ndim != 2:
            tensors[name] = values
            continue
        tensors[name], tensors[f"{name}_scale_inv"] = quantize(values, (16, 32))
    save_file(tensors, directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return directory


def test_rotating_rows_of_fp8_move_with_their_scales(tmp_path: Path) -> None:
    source = open_source(fp8_folder(_FLASH, tmp_path / "fp8"))
    original = load_file(write_folder(_FLASH, tmp_path / "plain") / "model.safetensors")
    found = linears_of(source)
    prefix = "layers.1.self_attn"
    order = np.concatenate((np.arange(0, _ROTARY, 2), np.arange(1, _ROTARY, 2)))
    latent = original[f"model.{prefix}.kv_a_proj_with_mqa.weight"]
    want = np.concatenate((latent[:_LORA], latent[_LORA:][order]))
    got = found[f"{prefix}.kv_a_proj_with_mqa"].load_dense()
    np.testing.assert_allclose(got, want, rtol=0.07, atol=0.02)
    queries = original[f"model.{prefix}.q_b_proj.weight"].reshape(5, _STILL + _ROTARY, -1)
    want = np.concatenate((queries[:, :_STILL], queries[:, _STILL:][:, order]), axis=1)
    got = found[f"{prefix}.q_b_proj"].load_dense().reshape(want.shape)
    np.testing.assert_allclose(got, want, rtol=0.07, atol=0.02)
    assert source.notes == (_PREDICTING,)


def test_layers_behind_the_last_are_refused_unless_the_configuration_knows_them(
    tmp_path: Path,
) -> None:
    folder = write_folder(_FLASH, tmp_path / "folder")
    assert open_source(folder).notes == (_PREDICTING,)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for count in (0, None, "one"):
        config |= {"num_nextn_predict_layers": count, "num_mtp_layers": count}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        with pytest.raises(InvalidSourceError, match=r"unexpected model\.layers\.3\.enorm\.weight"):
            open_source(folder)
