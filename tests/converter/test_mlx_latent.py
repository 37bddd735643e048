"""DeepSeek as mlx-lm stores it: kv_b_proj as transposed halves per head, experts in stacks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.core.errors import InvalidSourceError
from benchmarks.folder_encoders import ENCODERS
from tests.converter.test_moe_folders import linears_of, stack_for_mlx
from tests.families.deepseek_cases import CASES, LATENT
from tests.family_models import FamilyCase, cpu_logits, reference_logits, write_folder
from tests.gguf_factory import Floats
from tests.quantized_folders import Arrays, edit_tensors

_ENCODER = ENCODERS["MLX 4-bit"]
_HEADS, _LORA, _STILL, _VALUES = 4, 64, 64, 128
# Widths that groups of 64 divide.
_CASE = FamilyCase(
    "mlx",
    "deepseek_v3",
    {
        **LATENT,
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "moe_intermediate_size": 64,
        "kv_lora_rank": _LORA,
        "q_lora_rank": 64,
        "qk_nope_head_dim": _STILL,
        "v_head_dim": _VALUES,
    },
    next(case for case in CASES if case.name == "deepseek v3").gguf,
)
_KV_B = "layers.1.self_attn.kv_b_proj"


def split_halves(tensors: Arrays) -> Arrays:
    """`embed_q` [heads, kv_lora_rank, nope] and `unembed_out` [heads, v, kv_lora_rank]."""
    found: Arrays = {}
    for name, array in tensors.items():
        if ".kv_b_proj." not in name:
            found[name] = array
            continue
        heads = array.reshape(_HEADS, _STILL + _VALUES, _LORA)
        keys = np.ascontiguousarray(heads[:, :_STILL].swapaxes(1, 2))
        found[name.replace("kv_b_proj", "embed_q")] = keys
        found[name.replace("kv_b_proj", "unembed_out")] = heads[:, _STILL:]
    return found


def quantize(weight: Floats) -> Arrays:
    """A matrix, or a stack of them, as mlx-lm quantizes both."""
    encoded = _ENCODER.encode(weight.reshape(-1, weight.shape[-1]))
    return {key: array.reshape(*weight.shape[:-1], -1) for key, array in encoded.items()}


def decode(arrays: Arrays) -> Floats:
    """code * scale + bias, eight codes a word, the lowest bits first."""
    words = arrays["weight"][..., None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15
    codes = words.reshape(*arrays["scales"].shape, -1).astype(np.float32)
    scales, biases = (arrays[key].astype(np.float32)[..., None] for key in ("scales", "biases"))
    return np.asarray(codes * scales + biases).reshape(*arrays["weight"].shape[:-1], -1)


def mlx_folder(path: Path, *, is_quantized: bool = True) -> tuple[Path, Arrays]:
    """The folder, and its tensors before they were quantized."""
    folder = write_folder(_CASE, path)
    tensors = split_halves(load_file(folder / "model.safetensors"))
    stored: Arrays = {}
    for name, values in tensors.items():
        if is_quantized and re.search(r"_proj\.|embed_q|unembed_out", name):
            stem = name.removesuffix(".weight")
            stored |= {f"{stem}.{key}": array for key, array in quantize(values).items()}
        else:
            stored[name] = values
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stored = {name: np.ascontiguousarray(a) for name, a in stack_for_mlx(stored, config).items()}
    save_file(stored, folder / "model.safetensors")
    more = _ENCODER.config if is_quantized else {}
    (folder / "config.json").write_text(json.dumps({**config, **more}), encoding="utf-8")
    return folder, tensors


def expansion(keys: Floats, values: Floats) -> Floats:
    return np.concatenate((keys.swapaxes(1, 2), values), axis=1).reshape(-1, _LORA)


def test_halves_and_stacks_are_put_together(tmp_path: Path) -> None:
    folder, tensors = mlx_folder(tmp_path / "mlx")
    stem = "model.layers.1.self_attn"
    keys, values = (
        decode(quantize(tensors[f"{stem}.{half}.weight"])) for half in ("embed_q", "unembed_out")
    )
    linear = linears_of(open_source(folder))[_KV_B]
    np.testing.assert_array_equal(linear.load_dense(), expansion(keys, values))
    assert (linear.source_type, linear.native, linear.is_quantized) == ("MLX-4", None, True)
    report = convert(folder, tmp_path / "out")
    assert report.num_requant == 2  # of each layer what runs across the blocks of its keys
    got = cpu_logits(tmp_path / "out")
    np.testing.assert_allclose(got, reference_logits(tmp_path / "out"), rtol=0, atol=1e-3)


def test_dense_halves_are_the_whole(tmp_path: Path) -> None:
    whole = write_folder(_CASE, tmp_path / "whole")
    convert(whole, tmp_path / "from-whole", grid="dense")
    folder, _ = mlx_folder(tmp_path / "mlx", is_quantized=False)
    convert(folder, tmp_path / "out", grid="dense")
    wanted = reference_logits(tmp_path / "from-whole")
    np.testing.assert_array_equal(reference_logits(tmp_path / "out"), wanted)


@pytest.mark.parametrize("array", ["unembed_out.scales", "embed_q.biases", "unembed_out.weight"])
def test_a_missing_half_is_named(array: str, tmp_path: Path) -> None:
    folder, _ = mlx_folder(tmp_path / "mlx")
    lost = f"model.layers.1.self_attn.{array}"
    edit_tensors(folder, lambda tensors: tensors.pop(lost))
    with pytest.raises(InvalidSourceError, match=re.escape(lost.rpartition(".")[0])):
        open_source(folder)
