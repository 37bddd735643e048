"""The benchmarks' encoders against our importers, which the formats' packages are oracles of."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from benchmarks.folder_encoders import ENCODERS, FolderEncoder
from tests.converter.test_dense_source import hf_tensors, write_folder
from tests.gguf_factory import TinyModel
from tests.quantized_folders import Arrays, quantized_linears

MODEL = TinyModel("llama", hidden=192, heads=3, kv_heads=1, head_dim=64, inner=320)
# Gaussian weights, rounded to the nearest: a wrong nibble, row or scale costs 0.5 and more.
_ERRORS = {
    "AWQ 4-bit": 0.10,
    "AutoRound 4-bit": 0.12,
    "MLX 4-bit": 0.10,
    "HQQ 4-bit": 0.10,
    "bitsandbytes nf4": 0.10,
    "FP8, blocks of 128 x 128": 0.03,
    "compressed-tensors NVFP4": 0.11,
    "compressed-tensors MXFP4": 0.13,
}
_IS_EXACT = {name: not name.startswith(("bits", "FP8")) for name in ENCODERS}


def encode(encoder: FolderEncoder) -> tuple[Arrays, Arrays]:
    """All tensors of the folder, and the float32 weights of its quantized linears by stem."""
    tensors: Arrays = dict(hf_tensors(MODEL, ml_dtypes.bfloat16))
    marks = ("_proj", "embed_tokens", "lm_head") if encoder.with_vocabulary else ("_proj",)
    names = [name for name in tensors if any(mark in name for mark in marks)]
    weights = {n.removesuffix(".weight"): tensors.pop(n).astype(np.float32) for n in names}
    for stem, weight in weights.items():
        tensors |= {f"{stem}.{name}": array for name, array in encoder.encode(weight).items()}
    return tensors, weights


@pytest.mark.parametrize("name", ENCODERS)
def test_what_is_encoded_is_read_as_the_format(name: str, tmp_path: Path) -> None:
    encoder = ENCODERS[name]
    tensors, weights = encode(encoder)
    folder = write_folder(tmp_path / "hf", MODEL, tensors, **encoder.config)
    linears = quantized_linears(open_source(folder))
    assert linears.keys() == weights.keys()
    for stem, weight in weights.items():
        error = np.linalg.norm(linears[stem].load_dense() - weight) / np.linalg.norm(weight)
        assert 0.2 * _ERRORS[name] < error < _ERRORS[name], stem
    assert convert(folder, tmp_path / "out").lossless is _IS_EXACT[name]
